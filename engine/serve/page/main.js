// Joins the parts when the page is there.

byId('problem-close').addEventListener('click', hideProblem);
byId('form').addEventListener('submit', (event) => {
  event.preventDefault();
  if (answering || !byId('words').value.trim()) return;
  send(byId('words').value);
  byId('words').value = '';
});
byId('words').addEventListener('keydown', (event) => {
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  byId('form').requestSubmit();
});
document.addEventListener('keydown', (event) => { if (event.key === 'Escape') stopAnswer(); });
byId('stop').addEventListener('click', stopAnswer);
byId('new').addEventListener('click', () => openConversation(store.make()));
byId('system').addEventListener('change', () => {
  store.current.system = byId('system').value;
  store.save();
});
byId('export-text').addEventListener('click', () => download('conversation.md', 'text/markdown', markdownOf(store.current)));
byId('export-json').addEventListener('click', () => download('conversations.json', 'application/json', JSON.stringify(store.conversations, null, 2)));
window.addEventListener('pagehide', () => {
  isLeaving = true;
  store.save();
});

settings.load();
store.load();
if (store.current.system) byId('system').value = store.current.system;
drawConversations();
drawMessages();
panel.start();
server.look();
byId('words').focus();
