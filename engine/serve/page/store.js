// Conversations and settings, kept in this browser. The key lives in the tab alone.

const kStore = 'tandem.conversations', kSettings = 'tandem.settings', kKey = 'tandem.key';
const kSettingNames = ['system', 'temperature', 'top_p', 'top_k', 'min_p', 'max_tokens', 'seed'];

const store = {
  conversations: [],  // {id, title, system, messages: [{role, content, thoughts, note, failed}]}, the newest first
  current: null,

  load() {
    const text = localStorage.getItem(kStore);
    try {
      const kept = JSON.parse(text || '[]');
      if (!Array.isArray(kept) || !kept.every((each) => each && Array.isArray(each.messages))) throw new Error();
      this.conversations = kept;
    } catch {
      localStorage.setItem(kStore + '.damaged', text);
      showProblem('The kept conversations could not be read. They lie in the browser under the name ' + kStore + '.damaged.');
    }
    this.current = this.conversations[0] || this.make();
  },
  make() {
    const empty = this.conversations.find((each) => !each.messages.length);
    if (empty) return empty;
    const made = {id: crypto.randomUUID ? crypto.randomUUID() : String(Date.now()) + Math.random(), title: 'New conversation',
                  system: byId('system').value, messages: []};
    this.conversations.unshift(made);
    return made;
  },
  remove(conversation) {
    this.conversations = this.conversations.filter((each) => each !== conversation);
    if (this.current === conversation) this.current = this.conversations[0] || this.make();
    this.save();
  },
  save() {
    try {
      localStorage.setItem(kStore, JSON.stringify(this.conversations.filter((each) => each.messages.length)));
    } catch {
      showProblem('The browser has no room for more conversations. Export them, and delete some.');
    }
  },
};

const settings = {
  load() {
    let kept = {};
    try { kept = JSON.parse(localStorage.getItem(kSettings) || '{}') || {}; } catch { /* those of the server */ }
    for (const name of kSettingNames) byId(name).value = kept[name] ?? '';
    byId('key').value = sessionStorage.getItem(kKey) || '';
    for (const name of kSettingNames) byId(name).addEventListener('change', () => this.save());
    byId('key').addEventListener('change', () => {
      sessionStorage.setItem(kKey, byId('key').value);
      server.look();
    });
  },
  save() {
    localStorage.setItem(kSettings, JSON.stringify(Object.fromEntries(kSettingNames.map((name) => [name, byId(name).value]))));
  },
  // Members of a request. What is left empty is the server's to choose.
  sampling() {
    const members = {};
    for (const name of kSettingNames.slice(1)) {
      const value = byId(name).value.trim();
      if (value !== '') members[name] = Number(value);
    }
    return members;
  },
};

function titleOf(conversation) {
  const first = conversation.messages.find((each) => each.role === 'user');
  const words = first ? first.content.trim().replace(/\s+/g, ' ') : '';
  return words ? words.slice(0, 60) : 'New conversation';
}

function markdownOf(conversation) {
  const parts = ['# ' + titleOf(conversation)];
  if (conversation.system) parts.push('## System\n\n' + conversation.system);
  for (const each of conversation.messages) parts.push((each.role === 'user' ? '## You' : '## Model') + '\n\n' + each.content);
  return parts.join('\n\n') + '\n';
}
