import { usePointSelection, useWidth } from '../../lib/hooks.ts'
import { formatDay } from '../../lib/time.ts'
import { classes, useId } from '../../lib/view.ts'
import { computeTicks, linear, toSvgPath } from './scale.ts'

const LEFT = 52
const RIGHT = 10
const TOP = 10
const BOTTOM = 22
const DOT_MAX = 100

interface ChartProps {
  readonly title: string
  /** Unix seconds, ascending. */
  readonly times: readonly number[]
  /** Decimal strings; null breaks the line. */
  readonly series: readonly {
    readonly name: string
    readonly kind: string
    readonly values: readonly (string | null)[]
  }[]
  /** Formats a figure. */
  readonly format: (value: string) => string
  /** Formats a value of the scale. */
  readonly axis: (value: number) => string
  /** Events on the time axis. */
  readonly marks?: readonly { readonly time: number; readonly text: string; readonly kind: string }[]
  readonly height?: number
  /** Value with its own horizontal line. */
  readonly floor?: number
}

/** Line chart over time. Arrow keys and the pointer select a point, whose figures are announced. */
export function Chart({ title, times, series, format, axis, marks = [], height = 180, floor }: ChartProps) {
  const [ref, width] = useWidth()
  const id = useId()
  const numbers = series.flatMap(({ values }) => values.flatMap((value) => (value === null ? [] : [Number(value)])))
  if (floor !== undefined) numbers.push(floor)
  const [min, max] = [Math.min(0, ...numbers), Math.max(...numbers, 1e-9)]
  const x = linear([times[0] ?? 0, times.at(-1) ?? 1], [LEFT, Math.max(LEFT + 1, width - RIGHT)])
  const y = linear([min, max * 1.06], [height - BOTTOM, TOP])
  const { index, handlers } = usePointSelection(times.length, (left) => findNearest(times.map(x), left))
  const near = marks.filter(({ time }) => findNearest(times, time) === index)
  return (
    <figure class="chart" aria-labelledby={id}>
      <figcaption id={id}>{title}</figcaption>
      <p class="readout" role="status">
        <b>{formatDay(times[index] ?? 0)}</b>
        {series.map(({ name, kind, values }) => (
          <span>
            <i class={classes('key', kind)} aria-hidden="true" />
            {name} <b>{text(values[index], format)}</b>
          </span>
        ))}
        {near.map(({ text, kind }) => (
          <span class={classes('mark-text', kind)}>{text}</span>
        ))}
      </p>
      <div
        class="canvas"
        ref={ref}
        tabindex={0}
        role="group"
        aria-label={`${title}: arrow keys walk from day to day`}
        {...handlers}
      >
        {width > 0 && (
          <svg width={width} height={height} aria-hidden="true">
            {computeTicks(min, max).map((value) => (
              <>
                <line class={value === 0 ? 'zero' : 'grid'} x1={LEFT} x2={width - RIGHT} y1={y(value)} y2={y(value)} />
                <text class="tick" x={LEFT - 8} y={y(value) + 4} text-anchor="end">
                  {axis(value)}
                </text>
              </>
            ))}
            {floor !== undefined && <line class="floor" x1={LEFT} x2={width - RIGHT} y1={y(floor)} y2={y(floor)} />}
            <text class="tick" x={LEFT} y={height - 6}>
              {formatDay(times[0] ?? 0)}
            </text>
            {times.length > 1 && (
              <text class="tick" x={width - RIGHT} y={height - 6} text-anchor="end">
                {formatDay(times.at(-1) ?? 0)}
              </text>
            )}
            {series.map(({ kind, values }) => (
              <path
                class={classes('line', kind)}
                d={toSvgPath(
                  values.map((value, each) => (value === null ? null : [x(times[each] ?? 0), y(Number(value))])),
                )}
              />
            ))}
            {times.length <= DOT_MAX &&
              series.map(({ kind, values }) =>
                values.map(
                  (value, each) =>
                    value !== null && (
                      <circle class={classes('dot', kind)} cx={x(times[each] ?? 0)} cy={y(Number(value))} r="2.2" />
                    ),
                ),
              )}
            {marks.map(({ time, kind }) => (
              <path class={classes('mark', kind)} d={`M${x(clampTime(time, times))} ${height - BOTTOM - 1}l-4 -8h8z`} />
            ))}
            <line class="cross" x1={x(times[index] ?? 0)} x2={x(times[index] ?? 0)} y1={TOP} y2={height - BOTTOM} />
            {series.map(
              ({ kind, values }) =>
                typeof values[index] === 'string' && (
                  <circle class={classes('spot', kind)} cx={x(times[index] ?? 0)} cy={y(Number(values[index]))} r="4" />
                ),
            )}
          </svg>
        )}
      </div>
    </figure>
  )
}

function text(value: string | null | undefined, format: (value: string) => string) {
  return value === null || value === undefined ? 'none' : format(value)
}

/** Clamps a time to the range of the chart. */
function clampTime(time: number, times: readonly number[]) {
  return Math.min(Math.max(time, times[0] ?? time), times.at(-1) ?? time)
}

function findNearest(values: readonly number[], target: number) {
  return values.reduce(
    (best, value, index) => (Math.abs(value - target) < Math.abs((values[best] ?? 0) - target) ? index : best),
    0,
  )
}
