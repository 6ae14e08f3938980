// Two texts word by word: what both have, what only the first has, and what only the second has.

import { h, visible } from "ui/dom.js";

const MOST = 1500; // words of a text; the table below has a cell for each pair of them

// [first, second] as nodes, in which the words of one side alone are marked.
export function wordDiff(first, second) {
  const [a, b] = [words(first), words(second)];
  if (a.length > MOST || b.length > MOST) return [[visible(first)], [visible(second)]];
  const common = longest(a, b), sides = [[], []];
  let i = 0, j = 0;
  const put = (side, kind, word) => { const last = sides[side].at(-1); if (last?.kind === kind) last.text += word; else sides[side].push({ kind, text: word }); };
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) { put(0, "", a[i++]); put(1, "", b[j++]); }
    else if (j >= b.length || (i < a.length && common[i + 1][j] >= common[i][j + 1])) put(0, "del", a[i++]);
    else put(1, "ins", b[j++]);
  }
  return sides.map((pieces) => pieces.map(({ kind, text }) => (kind ? h(kind, {}, visible(text)) : visible(text))));
}

function words(text) { return String(text ?? "").match(/\s+|\w+|[^\s\w]/gu) ?? []; }

// common[i][j]: the length of the longest common subsequence of a from i on and b from j on.
function longest(a, b) {
  const common = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) for (let j = b.length - 1; j >= 0; j--) common[i][j] = a[i] === b[j] ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
  return common;
}
