import * as v from 'valibot'
import { documented, evmAddress } from '../../../http/request/input.ts'
import { type Charge, PER_CALL } from '../../../http/route/charge.ts'
import { enumKeyword } from '../../../http/route/json_schema.ts'
import { CodedError } from '../../../lib/error.ts'
import { LENDING_EVENT_TYPES } from '../../lending/lending_event.ts'
import { LENDING_FIGURES } from '../../lending/watched.ts'
import { notConfiguredError } from '../../moment.ts'
import type { Watchable } from '../../watch.ts'
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

const BEFORE_PAGES = 'counted before pagination'

/** Charges of the family's routes. */
export const CHARGES = {
  list: { credits: 15, per: 'chain on which the wallet has a position', terms: BEFORE_PAGES },
  batch: {
    credits: 15,
    per: 'wallet and chain with a position',
    many: { from: 100, credits: 12 },
    terms: BEFORE_PAGES,
  },
  events: { credits: 1, per: PER_CALL },
  snapshots: { credits: 2, per: PER_CALL },
} satisfies Record<string, Charge>

/** The family as tools for agents name it. */
export const PROTOCOL = { code: 'aave-v3', name: 'Aave V3 and its forks' }

/** Creates the description of the family's subject: a wallet in a market. */
export function createWatchable(settings: ReadonlyMap<number, readonly AaveV3Deployment[]>): Watchable {
  return {
    subject(chainId) {
      const markets = new Set((settings.get(chainId) ?? []).map(({ market }) => market))
      return v.strictObject({ wallet: evmAddress, market_id: v.optional(marketIdParameter(markets), MARKET_DEFAULT) })
    },
    figures: LENDING_FIGURES,
    events: LENDING_EVENT_TYPES,
    answerPath: ({ wallet, market_id }, chainId, blockNumber) =>
      `/v1/lending/aave-v3?wallet=${wallet}&chain_id=${chainId}&market_id=${market_id}&at_block=${blockNumber}`,
  }
}
