// Small helpers. Nothing on this page makes elements of text: words only ever become text nodes.

const byId = (id) => document.getElementById(id);

// An element with properties, listeners (on...) and children. Texts become text nodes.
function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith('on')) made.addEventListener(name.slice(2), value);
    else if (name in made) made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

const ms = (us) => (us / 1000).toFixed(us < 10000 ? 2 : 1);

// The events of a stream, as {name, data}, while its bytes come.
async function* eventsOf(response) {
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let kept = '';
  for (;;) {
    const {done, value} = await reader.read();
    if (done) return;
    kept += decoder.decode(value, {stream: true});
    for (let end; (end = kept.indexOf('\n\n')) >= 0; kept = kept.slice(end + 2)) {
      let name = 'message', data = '';
      for (const line of kept.slice(0, end).split('\n')) {
        if (line.startsWith('event: ')) name = line.slice(7);
        if (line.startsWith('data: ')) data += line.slice(6);
      }
      yield {name, data};
    }
  }
}

function showProblem(text) {
  byId('problem-text').textContent = text;
  byId('problem').hidden = false;
}
function hideProblem() { byId('problem').hidden = true; }

function download(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], {type}));
  const link = element('a', {href: url, download: name});
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}
