import { usePointSelection, useWidth } from '../../lib/hooks.ts'
import { classes, useId } from '../../lib/view.ts'
import { axisNumber, computeTicks, linear } from './scale.ts'

const LEFT = 44
const RIGHT = 4
const TOP = 10
const BOTTOM = 22
const GAP = 0.22

interface BarsProps {
  readonly title: string
  /** Names of the hours or days, in order. */
  readonly slots: readonly string[]
  /** One value for each slot. */
  readonly series: readonly { readonly name: string; readonly kind: string; readonly values: readonly number[] }[]
  readonly unit: string
  readonly height?: number
}

/** Stacked bar chart of counts over time. Arrow keys and the pointer select a bar. */
export function Bars({ title, slots, series, unit, height = 170 }: BarsProps) {
  const [ref, width] = useWidth()
  const id = useId()
  const inner = Math.max(1, width - LEFT - RIGHT)
  const slot = inner / slots.length
  const toIndex = (left: number) => Math.min(Math.max(Math.floor((left - LEFT) / slot), 0), slots.length - 1)
  const { index, handlers } = usePointSelection(slots.length, toIndex)
  const sums = slots.map((_, each) => series.reduce((sum, { values }) => sum + (values[each] ?? 0), 0))
  const max = Math.max(...sums, 1)
  const y = linear([0, max * 1.05], [height - BOTTOM, TOP])
  const visible = series.filter(({ values }) => (values[index] ?? 0) > 0)
  return (
    <figure class="chart" aria-labelledby={id}>
      <figcaption id={id}>{title}</figcaption>
      <p class="readout" role="status">
        <b>{slots[index]}</b>
        <span>
          {(sums[index] ?? 0).toLocaleString('en')} {unit}
        </span>
        {series.length > 1 &&
          visible.map(({ name, kind, values }) => (
            <span>
              <i class={classes('key', kind)} aria-hidden="true" />
              {name} <b>{(values[index] ?? 0).toLocaleString('en')}</b>
            </span>
          ))}
      </p>
      <div
        class="canvas"
        ref={ref}
        tabindex={0}
        role="group"
        aria-label={`${title}: arrow keys walk from bar to bar`}
        {...handlers}
      >
        {width > 0 && (
          <svg width={width} height={height} aria-hidden="true">
            {computeTicks(0, max)
              .filter(Number.isInteger)
              .map((value) => (
                <>
                  <line
                    class={value === 0 ? 'zero' : 'grid'}
                    x1={LEFT}
                    x2={width - RIGHT}
                    y1={y(value)}
                    y2={y(value)}
                  />
                  <text class="tick" x={LEFT - 8} y={y(value) + 4} text-anchor="end">
                    {axisNumber(value)}
                  </text>
                </>
              ))}
            <rect class="slot-now" x={LEFT + index * slot} y={TOP} width={slot} height={height - BOTTOM - TOP} />
            {slots.map((_, each) => drawStack({ series, each, x: LEFT + each * slot, slot, y }))}
            <text class="tick" x={LEFT} y={height - 6}>
              {slots[0]}
            </text>
            <text class="tick" x={width - RIGHT} y={height - 6} text-anchor="end">
              {slots.at(-1)}
            </text>
          </svg>
        )}
      </div>
    </figure>
  )
}

interface StackOptions {
  readonly series: BarsProps['series']
  /** Index of the slot. */
  readonly each: number
  /** Left edge and width of the slot, pixels. */
  readonly x: number
  readonly slot: number
  readonly y: (value: number) => number
}

/** Draws the stacked bars of one slot. */
function drawStack({ series, each, x, slot, y }: StackOptions) {
  let sum = 0
  return series.map(({ kind, values }) => {
    const value = values[each] ?? 0
    if (value === 0) return null
    const [bottom, top] = [y(sum), y(sum + value)]
    sum += value
    return (
      <rect
        class={classes('bar', kind)}
        x={x + (slot * GAP) / 2}
        y={top}
        width={slot * (1 - GAP)}
        height={Math.max(bottom - top, 0.5)}
      />
    )
  })
}
