/** Computes round values for the grid lines of a scale from `min`, 0 or below, to `max`. */
export function computeTicks(min: number, max: number) {
  const span = Math.max(max - min, Number.MIN_VALUE)
  const rough = span / 4
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = ([1, 2, 2.5, 5, 10].find((each) => each * power >= rough) ?? 10) * power
  const first = Math.ceil(min / step - 1e-9)
  const last = Math.floor(max / step + 1e-9)
  return Array.from({ length: last - first + 1 }, (_, index) => (first + index) * step)
}

export function linear([from, until]: [number, number], [start, end]: [number, number]) {
  const span = until - from || 1
  return (value: number) => start + ((value - from) / span) * (end - start)
}

/** Formats points as the path of an SVG; a null interrupts the line. */
export function toSvgPath(points: readonly (readonly [number, number] | null)[]) {
  return points
    .map((point, index) => {
      if (point === null) return ''
      const command = points[index - 1] ? 'L' : 'M'
      return `${command}${point[0].toFixed(1)} ${point[1].toFixed(1)}`
    })
    .join('')
}

/** Formats dollars for an axis: `$1.2M`. */
export function axisDollars(value: number) {
  return `${value < 0 ? '−' : ''}$${axisNumber(Math.abs(value))}`
}

export function axisNumber(value: number) {
  return new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 }).format(value)
}
