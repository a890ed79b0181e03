import { usePointSelection, useWidth } from '../../lib/hooks.js'
import { formatDay } from '../../lib/time.js'
import { classes, html, useId } from '../../lib/view.js'
import { computeTicks, linear, toSvgPath } from './scale.js'

const LEFT = 52
const RIGHT = 10
const TOP = 10
const BOTTOM = 22
const DOT_MAX = 100

/**
 * Line chart over time. Arrow keys and the pointer select a point, whose figures are announced.
 * @param {object} props
 * @param {string} props.title
 * @param {readonly number[]} props.times Unix seconds, ascending
 * @param {readonly { name: string, kind: string, values: readonly (string | null)[] }[]} props.series decimal strings; null breaks the line
 * @param {(value: string) => string} props.format formats a figure
 * @param {(value: number) => string} props.axis formats a value of the scale
 * @param {readonly { time: number, text: string, kind: string }[]} [props.marks] events on the time axis
 * @param {number} [props.height]
 * @param {number} [props.floor] value with its own horizontal line
 */
export function Chart({ title, times, series, format, axis, marks = [], height = 180, floor }) {
  const [ref, width] = useWidth()
  const id = useId()
  const numbers = series.flatMap(({ values }) => values.flatMap((value) => (value === null ? [] : [Number(value)])))
  if (floor !== undefined) numbers.push(floor)
  const [min, max] = [Math.min(0, ...numbers), Math.max(...numbers, 1e-9)]
  const x = linear([times[0] ?? 0, times.at(-1) ?? 1], [LEFT, Math.max(LEFT + 1, width - RIGHT)])
  const y = linear([min, max * 1.06], [height - BOTTOM, TOP])
  const { index, handlers } = usePointSelection(times.length, (left) => findNearest(times.map(x), left))
  const near = marks.filter(({ time }) => findNearest(times, time) === index)
  return html`<figure class="chart" aria-labelledby=${id}>
    <figcaption id=${id}>${title}</figcaption>
    <p class="readout" role="status">
      <b>${formatDay(times[index] ?? 0)}</b>
      ${series.map(({ name, kind, values }) => html`<span><i class=${classes('key', kind)} aria-hidden="true"></i>${name} <b>${text(values[index], format)}</b></span>`)}
      ${near.map(({ text, kind }) => html`<span class=${classes('mark-text', kind)}>${text}</span>`)}
    </p>
    <div class="canvas" ref=${ref} tabindex="0" role="group" aria-label=${`${title}: arrow keys walk from day to day`} ...${handlers}>
      ${
        width > 0 &&
        html`<svg width=${width} height=${height} aria-hidden="true">
          ${computeTicks(min, max).map((value) => html`<line class=${value === 0 ? 'zero' : 'grid'} x1=${LEFT} x2=${width - RIGHT} y1=${y(value)} y2=${y(value)} /><text class="tick" x=${LEFT - 8} y=${y(value) + 4} text-anchor="end">${axis(value)}</text>`)}
          ${floor !== undefined && html`<line class="floor" x1=${LEFT} x2=${width - RIGHT} y1=${y(floor)} y2=${y(floor)} />`}
          <text class="tick" x=${LEFT} y=${height - 6}>${formatDay(times[0] ?? 0)}</text>
          ${times.length > 1 && html`<text class="tick" x=${width - RIGHT} y=${height - 6} text-anchor="end">${formatDay(times.at(-1) ?? 0)}</text>`}
          ${series.map(({ kind, values }) => html`<path class=${classes('line', kind)} d=${toSvgPath(values.map((value, each) => (value === null ? null : [x(times[each] ?? 0), y(Number(value))])))} />`)}
          ${times.length <= DOT_MAX && series.map(({ kind, values }) => values.map((value, each) => value !== null && html`<circle class=${classes('dot', kind)} cx=${x(times[each] ?? 0)} cy=${y(Number(value))} r="2.2" />`))}
          ${marks.map(({ time, kind }) => html`<path class=${classes('mark', kind)} d=${`M${x(clampTime(time, times))} ${height - BOTTOM - 1}l-4 -8h8z`} />`)}
          <line class="cross" x1=${x(times[index] ?? 0)} x2=${x(times[index] ?? 0)} y1=${TOP} y2=${height - BOTTOM} />
          ${series.map(({ kind, values }) => typeof values[index] === 'string' && html`<circle class=${classes('spot', kind)} cx=${x(times[index] ?? 0)} cy=${y(Number(values[index]))} r="4" />`)}
        </svg>`
      }
    </div>
  </figure>`
}

/** @param {string | null | undefined} value @param {(value: string) => string} format */
function text(value, format) {
  return value === null || value === undefined ? 'none' : format(value)
}

/** Clamps a time to the range of the chart. @param {number} time @param {readonly number[]} times */
function clampTime(time, times) {
  return Math.min(Math.max(time, times[0] ?? time), times.at(-1) ?? time)
}

/** @param {readonly number[]} values @param {number} target */
function findNearest(values, target) {
  return values.reduce(
    (best, value, index) => (Math.abs(value - target) < Math.abs((values[best] ?? 0) - target) ? index : best),
    0,
  )
}
