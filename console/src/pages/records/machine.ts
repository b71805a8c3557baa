import { graphlib, layout } from '@dagrejs/dagre';
import type { Workflow } from './schema.ts';

export type Definition = Pick<Workflow, 'initial' | 'states' | 'transitions'>;
export type Transition = Definition['transitions'][number];

export const startsOf = ({ from }: Transition): readonly string[] =>
  typeof from === 'string' ? [from] : from;

interface Point {
  readonly x: number;
  readonly y: number;
}

const STATE_HEIGHT = 34;
const LINE = 15;
/** Longer labels are truncated; the list below the drawing shows whole labels. */
const MOST_CHARACTERS = 28;

const cut = (text: string): string =>
  text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS - 1)}…` : text;

/** Width of a text in px, as the page draws it. */
const measure = (() => {
  let context: CanvasRenderingContext2D | null | undefined;
  return (text: string, font: string): number => {
    context ??= document.createElement('canvas').getContext('2d');
    if (!context) return text.length * 8;
    context.font = font;
    return context.measureText(text).width;
  };
})();

/** Lays out states and transitions. Transitions between the same states share a line. */
export const drawingOf = ({ states, transitions }: Definition, isTall: boolean) => {
  const graph = new graphlib.Graph({ multigraph: true });
  graph.setGraph({
    rankdir: isTall ? 'TB' : 'LR',
    nodesep: isTall ? 30 : 34,
    ranksep: isTall ? 34 : 40,
    edgesep: 18,
    marginx: 8,
    marginy: 8,
  });
  const font = getComputedStyle(document.body).fontFamily;
  for (const { key, label } of states) {
    const width = Math.max(70, Math.ceil(measure(cut(label), `600 13px ${font}`)) + 30);
    graph.setNode(key, { width, height: STATE_HEIGHT });
  }
  const lines = new Map<string, { from: string; to: string; transitions: Transition[] }>();
  for (const transition of transitions) {
    for (const from of startsOf(transition)) {
      if (!graph.hasNode(from) || !graph.hasNode(transition.to)) continue;
      const key = JSON.stringify([from, transition.to]);
      const line = lines.get(key) ?? { from, to: transition.to, transitions: [] };
      line.transitions.push(transition);
      lines.set(key, line);
    }
  }
  for (const [key, line] of lines) {
    const labels = line.transitions.map(({ event_name }) => cut(event_name));
    const width = Math.ceil(Math.max(...labels.map((label) => measure(label, `12px ${font}`)))) + 10;
    graph.setEdge(line.from, line.to, { width, height: labels.length * LINE + 4, labelpos: 'c' }, key);
  }
  layout(graph);
  const { width = 0, height = 0 } = graph.graph();
  return {
    width,
    height,
    states: states.flatMap(({ key, label, final }) => {
      const { x, y, width: own, height: tall } = graph.node(key);
      return [{ key, label: cut(label), isFinal: final === true, x, y, width: own, height: tall }];
    }),
    edges: [...lines].map(([key, line]) => {
      const { points, x, y } = graph.edge({ v: line.from, w: line.to, name: key });
      return { ...line, labels: line.transitions.map(({ event_name }) => cut(event_name)), points, x, y };
    }),
  };
};

/** A smooth line through points. */
export const pathOf = (points: readonly Point[]): string => {
  const [first, ...rest] = points;
  const last = rest.at(-1);
  if (first === undefined || last === undefined) return '';
  const parts = [`M${first.x},${first.y}`];
  for (const [index, point] of rest.slice(0, -1).entries()) {
    const next = rest[index + 1] ?? last;
    const isLast = index === rest.length - 2;
    const end = isLast ? next : { x: (point.x + next.x) / 2, y: (point.y + next.y) / 2 };
    parts.push(`Q${point.x},${point.y} ${end.x},${end.y}`);
  }
  if (rest.length === 1) parts.push(`L${last.x},${last.y}`);
  return parts.join(' ');
};
