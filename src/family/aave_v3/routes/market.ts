import * as v from 'valibot'
import { documented } from '../../../http/request/input.ts'
import { enumKeyword } from '../../../http/route/json_schema.ts'
import { CodedError } from '../../../lib/error.ts'
import { notConfiguredError } from '../../moment.ts'
import type { AaveV3Target, LendingReader } from '../read/read.ts'
import { type AaveV3Deployment, MARKET_ALIASES, MARKET_PLACEHOLDERS } from '../table.ts'

/** Name of the family in errors. */
export const NAME = 'Aave V3'

/** The market of a wallet's history if the caller does not name one. */
export const MARKET_DEFAULT = 'main'

/** Schema of a market on any configured chain, by its name or an alias; returns the market's own name. */
export function marketIdParameter(names: ReadonlySet<string>) {
  const aliases = [...MARKET_PLACEHOLDERS, ...MARKET_ALIASES].filter(([, name]) => names.has(name))
  // A market's own name comes last, so that it takes precedence over another market's alias.
  const byName = new Map([...aliases, ...[...names].map((name) => [name, name] as const)])
  const shown = [...names, ...byName.keys()].filter((name) => !MARKET_PLACEHOLDERS.has(name) || names.has(name))
  const expected = `expected one of ${[...names].map((name) => `"${name}"`).join(', ')}`
  return v.pipe(
    v.string(expected),
    // If no market is configured, every name passes: the route answers that none is configured.
    v.check((text) => names.size === 0 || byName.has(text), expected),
    v.transform((text) => byName.get(text) ?? text),
    documented({
      type: 'string',
      ...enumKeyword([...new Set(shown)]),
      description: 'Market of Aave V3, by its own name or as Aave calls it.',
    }),
  )
}

/** Finds one market of one chain. Throws `CodedError` INVALID_PARAMETER if the chain does not have it. */
export function findMarketTarget(
  { targets }: LendingReader,
  { chainId, market }: { readonly chainId: number; readonly market: string },
): AaveV3Target & { readonly deployment: AaveV3Deployment } {
  const target = targets.get(chainId)
  if (target === undefined) throw notConfiguredError(NAME)
  const deployment = target.deployments.find((each) => each.market === market)
  if (deployment !== undefined) return { ...target, deployments: [deployment], deployment }
  const marketNames = target.deployments.map((each) => `"${each.market}"`).join(', ')
  throw new CodedError(
    'INVALID_PARAMETER',
    `Cannot read parameter "market_id": expected a market of chain ${chainId} (${marketNames}), got "${market}"`,
  )
}
