// Markdown as elements. A text is cut into blocks, and a block is drawn again only when its text has changed.

const kFence = /^ {0,3}(```+|~~~+)\s*([\w+#.-]*)/;
const kHeading = /^(#{1,6})\s+(.*?)\s*#*$/;
// The blanks end where the words begin, and `.` is any character, so no line is tried twice.
const kItem = /^(\s*)([-*+]|\d{1,9}[.)])\s+(\S.*)?$/s;
const kRule = /^ {0,3}([-*_])( *\1){2,}\s*$/;

// Longer texts are shown without marks, so that a hostile text cannot keep the page busy.
const kLongestMarked = 2000, kDeepestList = 12;

// The lines of each block: a fence, a heading, a rule, or what stands between empty lines.
function blocksOf(text) {
  const blocks = [];
  let block = [], fence = '';
  const close = () => { if (block.length) blocks.push(block); block = []; };
  for (const line of text.split('\n')) {
    if (fence) {
      block.push(line);
      if (line.trim().startsWith(fence) && !line.trim().slice(fence.length).replaceAll(fence[0], '')) { fence = ''; close(); }
      continue;
    }
    const opens = kFence.exec(line);
    if (opens) {
      close();
      fence = opens[1];
      block.push(line);
    } else if (!line.trim()) {
      close();
    } else if (isHeading(line) || (kRule.test(line) && !block.length)) {
      close();
      blocks.push([line]);
    } else {
      if (kItem.test(line) && block.length && !kItem.test(block[0])) close();
      block.push(line);
    }
  }
  close();
  return blocks;
}

function cellsOf(line) { return line.trim().replace(/^\||\|$/g, '').split('|').map((cell) => cell.trim()); }
function isTableRule(line) { return cellsOf(line).every((cell) => /^:?-+:?$/.test(cell)); }
function isHeading(line) { return line.length <= kLongestMarked && kHeading.test(line); }

const kInline = [
  [/`+/, null],
  [/\*\*([^\n]{1,500}?)\*\*/, 'strong'],
  [/__([^\n]{1,500}?)__/, 'strong'],
  [/~~([^\n]{1,500}?)~~/, 'del'],
  [/\*([^\s*](?:[^\n*]*[^\s*])?)\*/, 'em'],
  [/!?\[([^\]\n]{0,200})\]\(([^()\s]{1,1000})\)/, 'a'],
];

// Only addresses that lead to web pages become links.
function linkOf(words, address, deep) {
  const isWeb = /^(https?:\/\/|mailto:)/i.test(address);
  if (!isWeb) return document.createTextNode(`${words} (${address})`);
  return element('a', {href: address, rel: 'noopener noreferrer nofollow', target: '_blank', title: address},
                 ...inlineOf(words || address, deep));
}

function codeAt(text, at, mark) {
  const end = text.indexOf(mark, at + mark.length);
  if (end < 0 || text[end + mark.length] === '`') return null;
  return {node: element('code', {}, text.slice(at + mark.length, end).trim()), end: end + mark.length};
}

function inlineOf(text, deep = 0) {
  const nodes = [];
  while (text && text.length <= kLongestMarked) {
    let first = null;
    for (const [pattern, tag] of deep < 8 ? kInline : []) {
      const found = pattern.exec(text);
      if (found && (!first || found.index < first.found.index)) first = {found, tag};
    }
    if (!first) break;
    const {found, tag} = first;
    if (found.index) nodes.push(document.createTextNode(text.slice(0, found.index)));
    let end = found.index + found[0].length;
    if (tag === null) {
      const code = codeAt(text, found.index, found[0]);
      nodes.push(code ? code.node : document.createTextNode(found[0]));
      if (code) end = code.end;
    } else if (tag === 'a') {
      nodes.push(linkOf(found[1], found[2], deep + 1));
    } else {
      nodes.push(element(tag, {}, ...inlineOf(found[1], deep + 1)));
    }
    text = text.slice(end);
  }
  if (text) nodes.push(document.createTextNode(text));
  return nodes;
}

function codeBlock(lines) {
  const language = kFence.exec(lines[0])[2] || 'text';
  const last = lines[lines.length - 1].trim();
  const isClosed = lines.length > 1 && /^(```+|~~~+)$/.test(last);
  const code = lines.slice(1, isClosed ? -1 : undefined).join('\n');
  const copy = element('button', {type: 'button', onclick: () => copyText(code)}, 'Copy code');
  return element('div', {className: 'code'}, element('div', {className: 'row'}, element('span', {}, language), copy),
                 element('pre', {tabIndex: 0}, element('code', {}, code)));
}

// Items that stand further to the right are lists within the item before them.
function listBlock(lines, deep = 0) {
  const indentOf = (line) => (/^\s*/.exec(line)[0].replaceAll('\t', '    ')).length;
  const first = kItem.exec(lines[0]), indent = indentOf(lines[0]);
  const isNumbered = /\d/.test(first[2]);
  const list = element(isNumbered ? 'ol' : 'ul');
  if (isNumbered) list.start = parseInt(first[2], 10);
  let item = null, below = [];
  const close = () => {
    if (item && below.length) item.append(...(kItem.test(below[0]) ? [deep < kDeepestList ? listBlock(below, deep + 1) : element('p', {}, below.join(' '))] : [' ', ...inlineOf(below.join(' ').trim())]));
    below = [];
  };
  for (const line of lines) {
    const found = kItem.exec(line);
    if (found && indentOf(line) <= indent + 1) {
      close();
      item = element('li', {}, ...inlineOf(found[3] || ''));
      list.append(item);
    } else {
      if (found && below.length && !kItem.test(below[0])) close();
      below.push(line);
    }
  }
  close();
  return list;
}

function tableBlock(lines) {
  const row = (line, tag) => element('tr', {}, ...cellsOf(line).map((cell) => element(tag, {}, ...inlineOf(cell))));
  return element('table', {tabIndex: 0}, element('thead', {}, row(lines[0], 'th')),
                 element('tbody', {}, ...lines.slice(2).map((line) => row(line, 'td'))));
}

function blockElement(lines) {
  const heading = isHeading(lines[0]) ? kHeading.exec(lines[0]) : null;
  if (kFence.test(lines[0])) return codeBlock(lines);
  if (heading) return element('h' + Math.min(6, heading[1].length + 3), {}, ...inlineOf(heading[2]));
  if (lines.length === 1 && kRule.test(lines[0])) return element('hr');
  if (kItem.test(lines[0])) return listBlock(lines);
  if (lines.length > 1 && lines[0].includes('|') && isTableRule(lines[1])) return tableBlock(lines);
  if (lines.every((line) => line.startsWith('>')))
    return element('blockquote', {}, ...inlineOf(lines.map((line) => line.replace(/^>\s?/, '')).join(' ')));
  const paragraph = element('p');
  lines.forEach((line, i) => {
    if (i) paragraph.append(/ {2}$/.test(lines[i - 1]) ? element('br') : ' ');
    paragraph.append(...inlineOf(line.trim()));
  });
  return paragraph;
}

const drawnBlocks = new WeakMap();
function drawMarkdown(container, text) {
  const blocks = blocksOf(text);
  blocks.forEach((lines, i) => {
    const source = lines.join('\n'), old = container.children[i];
    if (old && drawnBlocks.get(old) === source) return;
    const made = blockElement(lines);
    drawnBlocks.set(made, source);
    if (old) old.replaceWith(made);
    else container.append(made);
  });
  while (container.children.length > blocks.length) container.lastElementChild.remove();
}

async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    announce('copied');
  } catch {
    showProblem('The browser does not let this page copy.');
  }
}
