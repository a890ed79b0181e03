/** A path's family is its first three segments: `/v1/positions/uniswap-v3`. The third may be an alias. */
const FAMILY_SEGMENTS = 3

/** Replaces an alias in a path's third segment, `amm_a`, by the canonical name, `uniswap-v3`. */
export function canonicalPath(path: string, aliases: ReadonlyMap<string, string>): string {
  const end = familyEnd(path)
  if (end < 0) return path
  const start = path.lastIndexOf('/', end - 1) + 1
  const canonical = aliases.get(path.slice(start, end))
  return canonical === undefined ? path : `${path.slice(0, start)}${canonical}${path.slice(end)}`
}

/** Returns the index at which a path's third segment ends; -1 if it has fewer. */
export function familyEnd(path: string): number {
  let slash = 0
  for (let segment = 1; segment < FAMILY_SEGMENTS; segment += 1) {
    slash = path.indexOf('/', slash + 1)
    if (slash < 0) return -1
  }
  const end = path.indexOf('/', slash + 1)
  return end < 0 ? path.length : end
}
