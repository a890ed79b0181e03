import * as v from 'valibot'
import { documented, evmAddress } from '../../../http/request/input.ts'
import { type Charge, PER_CALL } from '../../../http/route/charge.ts'
import { CodedError } from '../../../lib/error.ts'
import { LENDING_EVENT_TYPES } from '../../lending/lending_event.ts'
import { LENDING_FIGURES } from '../../lending/watched.ts'
import { notConfiguredError } from '../../moment.ts'
import type { Watchable } from '../../watch.ts'
import type { CometReader, CompoundV3Target } from '../read/read.ts'
import type { CompoundV3Market } from '../table.ts'

/** The family as tools for agents and errors name it. */
export const PROTOCOL = { code: 'compound-v3', name: 'Compound V3' }

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

/** Schema of a market on any configured chain, by its name. */
export function marketIdParameter(names: ReadonlySet<string>) {
  const expected = `expected one of ${[...names].map((name) => `"${name}"`).join(', ')}`
  return v.pipe(
    v.string(expected),
    // If no market is configured, every name passes: the route answers that none is configured.
    v.check((text) => names.size === 0 || names.has(text), expected),
    documented({ type: 'string', description: 'Market of Compound V3, by its base token.', examples: ['usdc'] }),
  )
}

/** Finds one market of one chain. Throws `CodedError` INVALID_PARAMETER if the chain does not have it. */
export function findMarketTarget(
  { targets }: Pick<CometReader, 'targets'>,
  { chainId, market }: { readonly chainId: number; readonly market: string },
): CompoundV3Target {
  const target = targets.get(chainId)
  if (target === undefined) throw notConfiguredError(PROTOCOL.name)
  const deployments = target.deployments.filter((each) => each.market === market)
  if (deployments.length > 0) return { ...target, deployments }
  const names = target.deployments.map((each) => `"${each.market}"`).join(', ')
  throw new CodedError(
    'INVALID_PARAMETER',
    `Cannot read parameter "market_id": expected a market of chain ${chainId} (${names}), got "${market}"`,
  )
}

/** Creates the description of the family's subject: a wallet in a market, which has no default. */
export function createWatchable(settings: ReadonlyMap<number, readonly CompoundV3Market[]>): Watchable {
  return {
    subject(chainId) {
      const markets = new Set((settings.get(chainId) ?? []).map(({ market }) => market))
      return v.strictObject({ wallet: evmAddress, market_id: marketIdParameter(markets) })
    },
    figures: LENDING_FIGURES,
    events: LENDING_EVENT_TYPES,
    answerPath: ({ wallet, market_id }, chainId, blockNumber) =>
      `/v1/lending/compound-v3?wallet=${wallet}&chain_id=${chainId}&market_id=${market_id}&at_block=${blockNumber}`,
  }
}
