import type { StatedAnswer } from './payload.ts'

/**
 * An answer with `null` in place of what some paths name: `data.pnl`, of each item `data[*].pnl`, of one `data[3].pnl`.
 * A path that names nothing changes nothing.
 */
export function maskPaths(answer: StatedAnswer, paths: readonly string[]): unknown {
  return paths.reduce<unknown>((rest, path) => without(rest, path.split(/[.[\]]+/)), answer)
}

function without(value: unknown, [step, ...rest]: readonly string[]): unknown {
  if (step === undefined) return null
  if (Array.isArray(value)) {
    return value.map((item, index) => (step === '*' || step === String(index) ? without(item, rest) : item))
  }
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, name === step ? without(item, rest) : item]),
  )
}
