// The chat: messages as elements, an answer while it comes, and what can be done with both.

const kSaveEach = 1000;  // milliseconds between two saves of an answer that comes

let answering = null;  // {controller, message, shown, id}; null: no answer comes
let isLeaving = false;  // the page is being left, which cuts its answer

function announce(words) { server.say(words, false); }

function buttonsOf(conversation, index) {
  const message = conversation.messages[index];
  const button = (words, call) => element('button', {type: 'button', onclick: call}, words);
  const row = element('div', {className: 'row'}, button('Copy', () => copyText(message.content)));
  if (message.role === 'user') row.append(button('Edit', () => editMessage(index)));
  if (message.role === 'assistant' && index === conversation.messages.length - 1) row.append(button('Again', answerAgain));
  return row;
}

function messageElement(conversation, index) {
  const message = conversation.messages[index];
  const body = element('div', {className: 'body'});
  const shown = element('article', {className: 'message ' + message.role},
                        element('h3', {}, message.role === 'user' ? 'You' : 'Model'));
  const thoughts = element('details', {hidden: !message.thoughts}, element('summary', {}, 'Thoughts'),
                           element('div', {className: 'body'}));
  const note = element('p', {className: 'note', hidden: !message.note}, message.note || '');
  shown.append(thoughts, body, note, buttonsOf(conversation, index));
  drawMessage(shown, message);
  return shown;
}

function drawMessage(shown, message) {
  const [, thoughts, body, note] = shown.children;
  thoughts.hidden = !message.thoughts;
  if (message.thoughts) drawMarkdown(thoughts.lastElementChild, message.thoughts);
  if (message.role === 'user') body.replaceChildren(...message.content.split('\n').flatMap((line, i) => i ? [element('br'), line] : [line]));
  else drawMarkdown(body, message.content);
  note.hidden = !message.note;
  note.textContent = message.note || '';
}

function drawMessages() {
  const list = byId('messages');
  list.replaceChildren(...store.current.messages.map((_, i) => messageElement(store.current, i)));
  list.scrollTop = list.scrollHeight;
}

function drawConversations() {
  byId('conversations').replaceChildren(...store.conversations.map((each) => {
    const title = titleOf(each);
    const open = element('button', {type: 'button', className: 'open', title, onclick: () => openConversation(each)}, title);
    if (each === store.current) open.setAttribute('aria-current', 'true');
    const remove = element('button', {type: 'button', 'aria-label': 'Delete ' + title, onclick: () => removeConversation(each)}, '×');
    return element('li', {}, open, remove);
  }));
}

function openConversation(conversation) {
  stopAnswer();
  store.current = conversation;
  byId('system').value = conversation.system || '';
  drawConversations();
  drawMessages();
  byId('words').focus();
}

function removeConversation(conversation) {
  if (!confirm('Delete "' + titleOf(conversation) + '"?')) return;
  stopAnswer();
  store.remove(conversation);
  openConversation(store.current);
}

function editMessage(index) {
  stopAnswer();
  const conversation = store.current, message = conversation.messages[index];
  const shown = byId('messages').children[index];
  const words = element('textarea', {rows: 4, value: message.content, 'aria-label': 'Message to edit'});
  const take = () => {
    conversation.messages.length = index;
    send(words.value);
  };
  const row = element('div', {className: 'row'}, element('button', {type: 'button', onclick: take}, 'Send edited'),
                      element('button', {type: 'button', onclick: drawMessages}, 'Cancel'));
  words.addEventListener('keydown', (event) => { if (event.key === 'Escape') drawMessages(); });
  shown.replaceChildren(shown.firstElementChild, words, row);
  words.focus();
}

function answerAgain() {
  const messages = store.current.messages;
  if (answering || !messages.length) return;
  if (messages[messages.length - 1].role === 'assistant') messages.pop();
  drawMessages();
  answer();
}

function send(words) {
  if (answering || !words.trim()) return;
  hideProblem();
  if (!store.conversations.includes(store.current)) store.conversations.unshift(store.current);
  store.current.system = byId('system').value;
  store.current.messages.push({role: 'user', content: words});
  store.save();
  drawConversations();
  drawMessages();
  answer();
}

function requestOf(conversation) {
  const messages = conversation.messages.filter((each) => each.content).map(({role, content}) => ({role, content}));
  if (conversation.system) messages.unshift({role: 'system', content: conversation.system});
  return {messages, stream: true, stream_options: {include_usage: true}, ...settings.sampling()};
}

// Draws what has come once for each frame of the screen.
function drawSoon(state) {
  if (state.isDue) return;
  state.isDue = true;
  requestAnimationFrame(() => {
    state.isDue = false;
    const list = byId('messages');
    const follows = list.scrollHeight - list.scrollTop - list.clientHeight < 80;
    drawMessage(state.shown, state.message);
    if (follows) list.scrollTop = list.scrollHeight;
    if (performance.now() - state.savedAt > kSaveEach) {
      state.savedAt = performance.now();
      store.save();
    }
  });
}

function takeChunk(state, chunk) {
  if (chunk.error) throw new Refused(503, chunk.error.message);
  state.id = chunk.id;
  state.usage = chunk.usage || state.usage;
  const [choice] = chunk.choices;
  if (!choice) return;
  state.message.content += choice.delta.content || '';
  state.message.thoughts = (state.message.thoughts || '') + (choice.delta.reasoning_content || '');
  if (choice.finish_reason) state.reason = choice.finish_reason;
  drawSoon(state);
}

async function readAnswer(state, request) {
  const response = await server.ask('/v1/chat/completions', {method: 'POST', body: JSON.stringify(request), signal: state.controller.signal});
  for await (const {data} of eventsOf(response)) {
    if (data === '[DONE]') return;
    takeChunk(state, JSON.parse(data));
  }
  throw new Error('the stream was cut');
}

function noteOf(state) {
  const seconds = (performance.now() - state.began) / 1000, tokens = state.usage && state.usage.completion_tokens;
  const cut = state.reason === 'length' ? 'Cut at the limit of tokens. ' : '';
  return tokens ? cut + tokens + ' tokens in ' + seconds.toFixed(1) + ' s.' : cut;
}

function setBusy(isBusy) {
  byId('send').disabled = isBusy;
  byId('stop').disabled = !isBusy;
  byId('messages').setAttribute('aria-busy', isBusy);
}

async function answer() {
  const conversation = store.current, request = requestOf(conversation);
  const message = {role: 'assistant', content: '', note: 'Not finished.'};
  conversation.messages.push(message);
  const shown = messageElement(conversation, conversation.messages.length - 1);
  byId('messages').append(shown);
  shown.children[2].classList.add('busy');
  const state = {controller: new AbortController(), message, shown, id: '', began: performance.now(), savedAt: performance.now()};
  answering = state;
  setBusy(true);
  announce('answering');
  try {
    await readAnswer(state, request);
    message.note = noteOf(state);
    announce('the answer is complete');
  } catch (error) {
    endBadly(conversation, state, error);
  }
  answering = null;
  setBusy(false);
  store.save();
  if (store.current === conversation) drawMessages();
}

function endBadly(conversation, state, error) {
  if (isLeaving) return;
  if (error.name === 'AbortError') {
    state.message.note = 'Stopped.';
    announce('stopped');
  } else if (error instanceof Refused) {
    state.message.note = 'Refused: ' + error.message;
    if (error.status === 401) server.askForKey(error.message);
    else showProblem(error.message);
  } else {
    state.message.note = 'The server went away before the answer was complete.';
    showProblem(state.message.note);
    server.lost();
  }
  if (!state.message.content && !state.message.thoughts && error.status === 401) conversation.messages.pop();
}

function stopAnswer() {
  if (answering) answering.controller.abort();
}
