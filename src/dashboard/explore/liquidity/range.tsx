import { formatSignificant } from '../../lib/decimal.ts'
import { useWidth } from '../../lib/hooks.ts'
import type { FullPosition } from '../../lib/shapes.ts'
import { getTicks, isFullRange, rangeScale } from './scale.ts'

const HEIGHT = 116
const BASE = 84
const TOP = 30

/**
 * Picture of a position: its range on a logarithmic price axis, the current price, and the token of each part of the range:
 * the second of the pair below the current price, the first above it.
 */
export function RangePicture({ position, inverse }: { position: FullPosition; inverse: boolean }) {
  const [ref, width] = useWidth()
  const { position_state: state, prices, in_range: inRange } = position
  const shown = inverse ? prices.inverse : prices
  const { lower, upper, current } = getTicks({ position, inverse })
  const full = isFullRange(state)
  const scale = rangeScale({ lower, upper, current, width })
  const at = { lower: scale(lower), upper: scale(upper), current: scale(current) }
  const split = Math.min(Math.max(at.current, at.lower), at.upper)
  const [base, quote] = inverse ? [1, 0] : [0, 1]
  const words = `Range ${full ? 'over all prices' : `from ${formatSignificant(shown.lower)} to ${formatSignificant(shown.upper)}`}, current price ${formatSignificant(shown.current)}, ${inRange ? 'in range' : 'out of range'}`
  return (
    <div class="picture" ref={ref}>
      {width > 0 && (
        <svg width={width} height={HEIGHT} role="img" aria-label={words}>
          <line class="axis" x1="0" x2={width} y1={BASE} y2={BASE} />
          <rect
            class={`token${quote}`}
            x={at.lower}
            y={TOP}
            width={Math.max(0, split - at.lower)}
            height={BASE - TOP}
          />
          <rect class={`token${base}`} x={split} y={TOP} width={Math.max(0, at.upper - split)} height={BASE - TOP} />
          <line class="bound" x1={at.lower} x2={at.lower} y1={TOP} y2={BASE + 6} />
          <line class="bound" x1={at.upper} x2={at.upper} y1={TOP} y2={BASE + 6} />
          <line class="now" x1={at.current} x2={at.current} y1={TOP - 6} y2={BASE + 6} />
          <circle class="now" cx={at.current} cy={TOP - 6} r="4" />
          <Label x={at.current} y={14} width={width} text={formatSignificant(shown.current)} beside />
          <Bounds
            at={at}
            width={width}
            lower={full ? '0' : formatSignificant(shown.lower)}
            upper={full ? '∞' : formatSignificant(shown.upper)}
          />
        </svg>
      )}
    </div>
  )
}

const CHARACTER = 7.4

interface BoundsProps {
  /** Pixels from the left edge. */
  readonly at: { readonly lower: number; readonly upper: number }
  readonly width: number
  readonly lower: string
  readonly upper: string
}

/** Labels of both bounds, anchored away from each other if they would overlap. */
function Bounds({ at, width, lower, upper }: BoundsProps) {
  const apart = at.upper - at.lower > ((lower.length + upper.length) * CHARACTER) / 2 + 12
  return (
    <>
      <Label x={at.lower} y={BASE + 24} width={width} text={lower} anchor={apart ? 'middle' : 'end'} />
      <Label x={at.upper} y={BASE + 24} width={width} text={upper} anchor={apart ? 'middle' : 'start'} />
    </>
  )
}

interface LabelProps {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly text: string
  /** Strong and next to `x`. */
  readonly beside?: boolean
  readonly anchor?: 'start' | 'middle' | 'end'
}

/** Text at `x`, kept within the picture. */
function Label({ x, y, width, text, beside = false, anchor = 'middle' }: LabelProps) {
  const length = text.length * CHARACTER
  if (beside) {
    const left = x + 10 + length > width
    return (
      <text class="strong" x={left ? x - 10 : x + 10} y={y + 10} text-anchor={left ? 'end' : 'start'}>
        {text}
      </text>
    )
  }
  const before = length * { start: 0, middle: 0.5, end: 1 }[anchor]
  const clamped = Math.min(Math.max(x, before), width - (length - before))
  return (
    <text x={clamped} y={y} text-anchor={anchor}>
      {text}
    </text>
  )
}
