import type { StatedAnswer } from './payload.ts'

/**
 * Replaces the values at some paths by `null`: `data.pnl`, `data[*].pnl` of each item, `data[3].pnl` of one item. A
 * path without a value changes nothing.
 */
export function maskPaths(answer: StatedAnswer, paths: readonly string[]): unknown {
  return paths.reduce<unknown>((masked, path) => maskPath(masked, path.split(/[.[\]]+/)), answer)
}

function maskPath(value: unknown, [step, ...rest]: readonly string[]): unknown {
  if (step === undefined) return null
  if (Array.isArray(value)) {
    return value.map((item, index) => (step === '*' || step === String(index) ? maskPath(item, rest) : item))
  }
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, name === step ? maskPath(item, rest) : item]),
  )
}
