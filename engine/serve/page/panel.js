// What the devices do: passes of the last seconds as they come from /tandem/timeline, and the steps of one of them.

const kKeptSeconds = 6, kDrawEach = 100;  // of passes; milliseconds between two pictures

const panel = {
  passes: [],       // the newest last
  lanes: [],        // devices
  chosen: null,     // the pass that the user chose; null: the newest one with steps
  held: null,       // while the user holds the picture: the time at its right edge
  controller: null,
  drawnAt: 0,
  isDue: false,
  numbers: {},
  offset: 0,        // the page's clock minus the server's, in microseconds

  start() {
    this.pictures = {lanes: new Picture(byId('lanes')), steps: new Picture(byId('steps')), chip: new Picture(byId('chip-steps'))};
    byId('panel').addEventListener('toggle', () => byId('panel').open ? this.listen() : this.leave());
    document.addEventListener('visibilitychange', () => document.hidden ? this.leave() : this.listen());
    byId('lanes').addEventListener('click', (event) => this.click(event));
    byId('hold').addEventListener('click', () => this.hold(this.held === null));
    byId('before').addEventListener('click', () => this.step(-1));
    byId('after').addEventListener('click', () => this.step(1));
    byId('window').addEventListener('change', () => this.drawSoon());
    window.addEventListener('resize', () => this.drawSoon());
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.drawSoon());
    server.onReady.push(() => this.listen());
    setInterval(() => this.drawSoon(), 250);
    this.drawSoon();
  },
  // Nobody looks at a closed panel or a hidden page, so the server is not asked for anything then.
  leave() {
    if (this.controller) this.controller.abort();
    this.controller = null;
  },
  async listen() {
    if (this.controller || !server.isThere || document.hidden || !byId('panel').open) return;
    const controller = this.controller = new AbortController();
    try {
      const response = await server.ask('/tandem/timeline', {signal: controller.signal});
      for await (const event of eventsOf(response)) this.take(event.name, JSON.parse(event.data));
      throw new Error('the stream was cut');
    } catch (error) {
      if (this.controller === controller) this.controller = null;
      if (error.name === 'AbortError') return;
      if (!(error instanceof Refused)) server.lost();
    }
  },
  take(name, data) {
    if (name === 'server') this.begin(data);
    if (name === 'passes') this.takePasses(data);
    if (name === 'modelled') this.takeModelled(data);
    this.drawSoon();
  },
  begin(data) {
    Object.assign(this, {passes: [], lanes: data.lanes, chosen: null, numbers: {}, isTied: false});
    byId('chip').hidden = !data.soc;
    if (data.soc) byId('chip-title').textContent = 'The same pass on ' + data.soc.name + ', modelled';
  },
  takePasses(data) {
    const now = performance.now() * 1000;
    for (const pass of data.passes) {
      for (const lane of pass.lanes || []) if (!this.lanes.includes(lane)) this.lanes.push(lane);
      this.passes.push(pass);
    }
    const last = this.passes[this.passes.length - 1];
    if (last && (!this.isTied || now - last.begin - last.length < this.offset)) {
      this.offset = now - last.begin - last.length;
      this.isTied = true;
    }
    const oldest = last ? last.begin - kKeptSeconds * 1e6 : 0;
    if (this.held === null) this.passes = this.passes.filter((pass) => pass.begin > oldest || pass === this.chosen);
    else if (this.passes.length > 20000) this.passes.splice(0, this.passes.length - 20000);
    this.numbers = {...this.numbers, ...data, lost: (this.numbers.lost || 0) + data.lost, passes: undefined};
  },
  takeModelled(data) {
    byId('chip-title').textContent = 'A pass of ' + data.tokens + (data.tokens === 1 ? ' token' : ' tokens') + ' at position ' + data.position + ' on ' + data.soc +
        ', modelled: ' + ms(data.length) + ' ms, ' + data.joules.toFixed(4) + ' J (plan ' + data.plan + ')';
    this.modelled = data;
  },
  withSteps() { return this.passes.filter((pass) => pass.steps); },
  shown() {
    const all = this.withSteps();
    return this.chosen || all[all.length - 1] || null;
  },
  choose(pass) {
    this.chosen = pass;
    this.hold(pass !== null);
    this.drawSoon();
  },
  hold(isHeld) {
    this.held = isHeld ? (this.held ?? this.now()) : null;
    if (!isHeld) this.chosen = null;
    byId('hold').setAttribute('aria-pressed', String(isHeld));
  },
  step(by) {
    const all = this.withSteps(), at = all.indexOf(this.shown()) + by;
    if (at >= 0 && at < all.length) this.choose(all[at]);
  },
  // The nearest pass with steps: others have none that could be shown.
  click(event) {
    const at = this.pictures.lanes.timeAt(event.offsetX);
    const away = (pass) => Math.max(pass.begin - at, at - pass.begin - pass.length, 0);
    const nearest = this.withSteps().sort((a, b) => away(a) - away(b))[0];
    if (nearest) this.choose(nearest);
  },
  now() { return performance.now() * 1000 - this.offset; },

  drawSoon() {
    if (this.isDue || document.hidden || !byId('panel').open) return;
    this.isDue = true;
    setTimeout(() => requestAnimationFrame(() => {
      this.isDue = false;
      this.draw();
    }), kDrawEach);
  },
  draw() {
    this.drawNumbers();
    this.drawLanes();
    const pass = this.shown();
    if (!pass) this.pictures.steps.begin(this.lanes, 0, 1000);
    else if (pass !== this.drawnPass || this.lastWidth !== innerWidth) this.drawPass(pass);
    this.drawnPass = pass;
    this.lastWidth = innerWidth;
    if (this.modelled && !byId('chip').hidden)
      drawSteps(this.pictures.chip, this.modelled.lanes, this.modelled.steps, this.modelled.length);
  },
  drawLanes() {
    const seconds = Number(byId('window').value), picture = this.pictures.lanes;
    const last = this.passes[this.passes.length - 1];
    let end = this.held ?? (last ? Math.max(this.now(), last.begin + last.length) : seconds * 1e6);
    if (this.chosen && (this.chosen.begin < end - seconds * 1e6)) end = this.chosen.begin + seconds * 5e5;
    picture.begin(['passes', ...this.lanes], end - seconds * 1e6, end);
    for (const pass of this.passes) {
      if (pass.begin > end || pass.begin + pass.length < picture.from) continue;
      picture.bar(0, pass.begin, pass.length, pass.steps ? 'matmul' : 'pass');
      for (const [lane, kind, , begin, took] of pass.steps || [])
        picture.bar(1 + this.lanes.indexOf(pass.lanes[lane]), pass.begin + begin, took, kindOf(kind), kind === 'wait');
    }
    const shown = this.shown();
    if (shown) picture.frame(shown.begin, shown.length);
  },
  drawNumbers() {
    const last = this.passes[this.passes.length - 1];
    const isIdle = !last || this.now() - last.begin - last.length > 1.5e6;
    const values = {
      'Tokens a second': isIdle ? 0 : this.numbers.tokens_per_second ?? 0,
      'Texts in work': isIdle ? 0 : this.numbers.active ?? 0,
      'Texts that wait': this.numbers.waiting ?? 0,
      'Cache pages': last ? last.pages + ' of ' + last.all_pages : '-',
      'Plan': last ? last.plan : '-',
      'Passes not told': this.numbers.lost ?? 0,
    };
    const key = JSON.stringify(values);
    if (key === this.drawnNumbers) return;
    this.drawnNumbers = key;
    byId('numbers').replaceChildren(...Object.entries(values).map(([name, value]) =>
        element('div', {}, element('dt', {}, name), element('dd', {}, String(value)))));
  },
  drawPass(pass) {
    const title = 'Pass ' + pass.number + ': ' + pass.tokens + (pass.tokens === 1 ? ' token in ' : ' tokens in ') + ms(pass.length) +
        ' ms, plan ' + pass.plan;
    byId('pass-title').textContent = title;
    byId('steps').setAttribute('aria-label', title + ', ' + pass.steps.length + ' steps and waits; the table lists them');
    drawSteps(this.pictures.steps, pass.lanes, pass.steps, pass.length);
    byId('texts').replaceChildren(...pass.texts.map((text) => {
      const isOwn = answering && answering.id && text.name === answering.id;
      const what = (text.kind === 'prompt' ? 'a prompt' : 'an answer') + ': ' + text.tokens + (text.tokens === 1 ? ' token' : ' tokens') +
          ' at position ' + text.position;
      return element('li', {className: isOwn ? 'own' : ''}, (isOwn ? 'this chat, ' : '') + what);
    }));
    byId('rows').replaceChildren(...pass.steps.slice(0, 500).map(([lane, kind, name, begin, took]) =>
        element('tr', {}, element('td', {}, pass.lanes[lane]), element('td', {}, (kind === 'wait' ? 'waits ' : '') + name),
                element('td', {}, ms(begin)), element('td', {}, ms(took)))));
  },
};
