import * as v from 'valibot'
import { documented } from '../../http/request/input.ts'
import { MARKET_ALIASES } from './deployments.ts'

/** One of the markets that exist on some configured chain, or another name of it; returns the market's own name. */
export function marketIdIn(names: ReadonlySet<string>) {
  const aliases = [...MARKET_ALIASES].filter(([, name]) => names.has(name))
  // A market's own name comes last, so that it takes precedence over another market's alias.
  const byName = new Map([...aliases, ...[...names].map((name) => [name, name] as const)])
  const expected = `expected one of ${[...names].map((name) => `"${name}"`).join(', ')}`
  return v.pipe(
    v.string(expected),
    // Without any market every name passes: the route then answers that nothing is configured.
    v.check((text) => names.size === 0 || byName.has(text), expected),
    v.transform((text) => byName.get(text) ?? text),
    documented({ type: 'string', enum: [...byName.keys()] }),
  )
}
