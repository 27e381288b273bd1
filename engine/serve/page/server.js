// The connection to the server: what it is, whether it is there, and its refusals in words.

const kLookAgain = 2000;

class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

const server = {
  isThere: false,
  model: '',
  timer: 0,
  onReady: [],  // called each time that the server is there again

  headers() {
    const key = byId('key').value.trim();
    if (/[^\x20-\x7e]/.test(key)) throw new Refused(401, 'A key has letters of ASCII alone.');
    return {'Content-Type': 'application/json', ...(key ? {Authorization: 'Bearer ' + key} : {})};
  },
  async ask(path, options = {}) {
    const response = await fetch(path, {headers: this.headers(), cache: 'no-store', ...options});
    if (response.ok) return response;
    let message = 'The server answers with the status ' + response.status + '.';
    try { message = (await response.json()).error.message || message; } catch { /* no words of its own */ }
    throw new Refused(response.status, message);
  },
  say(words, isBad) {
    byId('state').textContent = words;
    byId('state').classList.toggle('bad', isBad);
  },
  // Looks whether the server is there, and goes on looking until it is.
  async look() {
    clearTimeout(this.timer);
    try {
      await this.ask('/health');
      const models = await (await this.ask('/v1/models')).json();
      this.model = models.data[0].id;
      byId('model').textContent = this.model + ', ' + models.data[0].meta.n_ctx + ' tokens at most';
      this.say('ready', false);
      if (!this.isThere) {
        this.isThere = true;
        hideProblem();
        for (const call of this.onReady) call();
      }
    } catch (error) {
      this.isThere = false;
      this.explain(error);
      if (error.status !== 401) this.timer = setTimeout(() => this.look(), kLookAgain);
    }
  },
  explain(error) {
    if (error.status === 401) return this.askForKey(error.message);
    if (error.status === 503) return this.say('the model is being loaded', false);
    if (error instanceof Refused) return this.say('the server refuses: ' + error.message, true);
    this.say('the server does not answer', true);
    showProblem('The server does not answer. This page looks for it again every two seconds.');
  },
  askForKey(message) {
    this.say('a key is needed', true);
    showProblem(byId('key').value ? 'The server does not take this key. ' + message : message);
    byId('settings').open = true;
    byId('key').focus();
  },
  lost() {
    if (!this.isThere) return;
    this.isThere = false;
    this.look();
  },
};
