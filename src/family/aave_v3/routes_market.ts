import * as v from 'valibot'
import { documented } from '../../http/request/input.ts'
import { CodedError } from '../../lib/error.ts'
import { MARKET_ALIASES } from './deployments.ts'

/** The market of a wallet's history if the caller does not name one. */
export const MARKET_DEFAULT = 'main'

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

/** The error if none of the chains that are asked has the family. */
export function notConfigured(): CodedError {
  return new CodedError('API_ENDPOINT_NOT_CONFIGURED', 'No chain with Aave V3 is configured')
}
