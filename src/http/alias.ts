/** Aliases stand here: `/v1/positions/<family>`, `/v1/lending/<family>`. */
const ALIAS_SEGMENT = 3

/** The path with another name of its third segment, `amm_a`, replaced by the canonical one, `uniswap-v3`. */
export function canonicalPath(path: string, aliases: ReadonlyMap<string, string>): string {
  const segments = path.split('/')
  const canonical = aliases.get(segments[ALIAS_SEGMENT] ?? '')
  if (canonical === undefined) return path
  segments[ALIAS_SEGMENT] = canonical
  return segments.join('/')
}
