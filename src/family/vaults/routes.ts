import * as v from 'valibot'
import type { Address } from 'viem'
import type { WithExpiry } from '../../chain/block_cache.ts'
import { TARGET_LENGTH_MAX } from '../../http/limits.ts'
import { chainIdNumber, walletList } from '../../http/request/batch.ts'
import {
  chainIdWith,
  configuredChainId,
  documented,
  evmAddress,
  evmWallet,
  limit,
  moment,
  momentFields,
  momentRule,
  page,
} from '../../http/request/input.ts'
import { type Charge, PER_CALL } from '../../http/route/charge.ts'
import { createPagination, slicePage } from '../../http/route/page.ts'
import { receipt } from '../../http/route/receipt.ts'
import { defineRoute, type Reply, type Route } from '../../http/route/route.ts'
import type { Work } from '../../lib/async/work.ts'
import type { Clock } from '../../lib/clock.ts'
import { CodedError } from '../../lib/error.ts'
import { EVM_ADDRESS } from '../../lib/text/text_format.ts'
import { filterTargets, getEarliestExpiryMs, isNow, type Moment, readAt, toAsOf } from '../moment.ts'
import { eventsOutput, pnlOutput, presentEvent, presentPnl } from './present/history.ts'
import { presentPosition, presentSilent } from './present/present.ts'
import { type PresentedRow, vaultsOutput } from './present/schema.ts'
import type { VaultHistoryReader } from './read/history.ts'
import { findKnownVault } from './read/named.ts'
import type { VaultsRead } from './read/position.ts'
import { nameVaults, type VaultReader } from './read/read.ts'

const NAME = 'vaults'
const CHARGE: Charge = { credits: 2, per: 'vault that the wallet has something in', terms: 'counted before pagination' }

interface Filter extends Moment {
  readonly chain_id?: number | undefined
  readonly vaults?: readonly Address[] | undefined
}

/** Most vaults that a caller may name. */
const NAMED_MAX = 25
const EXPECTED_VAULTS = `expected 1 to ${NAMED_MAX} EVM addresses with commas between them`

/** Schema of addresses; removes duplicates. */
const namedVaults = v.pipe(
  v.string(EXPECTED_VAULTS),
  v.transform((text) => text.split(',')),
  v.array(evmAddress, EXPECTED_VAULTS),
  v.transform((addresses) => [...new Set(addresses)]),
  v.maxLength(NAMED_MAX, EXPECTED_VAULTS),
  v.metadata({ lengthMax: TARGET_LENGTH_MAX }),
  documented({
    type: 'string',
    description:
      `Up to ${NAMED_MAX} addresses of vaults, separated by commas, that are read besides those of the table: a MetaMorpho ` +
      'or a Morpho Vault V2 whose factory made it. Others are left out.',
    examples: ['0xBEEF01735c132Ada46AA9aA4c54623cAA92A64CB'],
  }),
)

/** Creates the list and the batch; `chainIds` are all configured chains, with vaults or without. */
export function createRoutes(options: {
  readonly chainIds: readonly number[]
  readonly reader: () => VaultReader
}): readonly Route[] {
  const { chainIds, reader } = options
  const common = {
    errors: [503],
    output: vaultsOutput,
    charge: CHARGE,
    count: ({ charged }: MatchingRows) => charged,
    untilMs: ({ reads }: MatchingRows, query: Moment) => (isNow(query) ? getEarliestExpiryMs(reads) : 0),
  } as const
  return [
    defineRoute({
      ...common,
      method: 'GET',
      path: '/v1/positions/vaults',
      operation: 'vault_positions',
      summary:
        'Lists what a wallet has in vaults whose shares are worth an amount of one token (ERC-4626): shares, their worth ' +
        'and what of it can be withdrawn now.',
      input: v.pipe(
        v.object({
          wallet: evmWallet,
          chain_id: v.optional(configuredChainId(chainIds)),
          vaults: v.optional(namedVaults),
          ...moment,
          ...receipt,
          page,
          limit,
        }),
        momentRule(),
      ),
      read: ({ wallet, ...filter }, { work }) => readRows(reader(), { wallets: [wallet], filter }, work),
      present: (result, paged, { url }) => presentRows(result, { ...paged, url }),
    }),
    defineRoute({
      ...common,
      method: 'POST',
      path: '/v1/positions/vaults/batch',
      operation: 'vault_batch',
      summary: 'Lists what many wallets have in vaults, with the rows of the list.',
      input: v.object({ page, limit, ...receipt }),
      body: v.pipe(
        v.strictObject({
          wallets: walletList(evmAddress, { what: 'EVM addresses', format: EVM_ADDRESS }),
          chain_id: v.optional(chainIdNumber(chainIds)),
          ...momentFields,
        }),
        momentRule(),
      ),
      read: ({ wallets, ...filter }, { work }) => readRows(reader(), { wallets, filter }, work),
      present: (result, paged, { url }) => presentRows(result, { ...paged, url }),
    }),
  ]
}

/** Rows by requested wallet, then by ascending chain; and all reads for them. */
interface MatchingRows {
  readonly reads: readonly WithExpiry<VaultsRead>[]
  readonly rows: readonly PresentedRow[]
  /** Rows of vaults that answer. */
  readonly charged: number
}

async function readRows(
  reader: VaultReader,
  { wallets, filter }: { readonly wallets: readonly Address[]; readonly filter: Filter },
  work: Work,
): Promise<MatchingRows> {
  const configured = filterTargets(reader.targets, { chainId: filter.chain_id, what: NAME })
  const targets = configured.flatMap((target) => nameVaults(target, filter.vaults) ?? [])
  const options = { targets, moment: filter, past: reader.past, work }
  const reads = await readAt(options, (resolved) => reader.read(wallets, { targets: resolved, work }))
  const order = new Map(wallets.map((wallet, index) => [wallet.toLowerCase(), index]))
  const getRank = ({ wallet }: PresentedRow): number => order.get(wallet.toLowerCase()) ?? 0
  const positions = reads.flatMap((read) => read.positions.map(presentPosition))
  const silent = reads.flatMap((read) => read.silent.map(presentSilent))
  const rows = [...positions, ...silent].sort((a, b) => getRank(a) - getRank(b) || a.chain_id - b.chain_id)
  return { reads, rows, charged: positions.length }
}

function presentRows(
  { reads, rows }: MatchingRows,
  { page: number, limit: size, url }: { readonly page: number; readonly limit: number; readonly url: URL },
): Reply {
  const paged = { page: number, limit: size }
  return {
    data: slicePage(rows, paged),
    pagination: createPagination({ ...paged, total: rows.length, url }),
    asOf: toAsOf(reads),
  }
}

const HISTORY_CHARGES = {
  pnl: { credits: 8, per: PER_CALL },
  events: { credits: 1, per: PER_CALL },
} satisfies Record<string, Charge>

/** Creates the routes for what one wallet did in one vault, and what that brought. */
export function createHistoryRoutes({
  chainIds,
  clock,
  reader,
  history,
}: {
  /** Chains that have vaults. */
  readonly chainIds: readonly number[]
  readonly clock: () => Clock
  readonly reader: () => VaultReader
  readonly history: () => VaultHistoryReader
}): readonly Route[] {
  const subject = {
    vault: v.pipe(
      evmAddress,
      v.description('Address of a vault of the table, or of a MetaMorpho or a Morpho Vault V2 whose factory made it.'),
      v.examples(['0x83F20F44975D03b1b09e64809B757c47f942BEeA']),
    ),
    wallet: evmWallet,
    chain_id: chainIdWith('vaults', chainIds),
  }
  const common = { method: 'GET', errors: [404, 503], feature: 'history', description: HISTORY_DESCRIPTION } as const

  /** The chain of a vault that is read, and the vault's first block. Throws `CodedError` INVALID_PARAMETER for another vault. */
  async function findPlace({ vault, chain_id }: { readonly vault: Address; readonly chain_id: number }, work: Work) {
    const [target] = filterTargets(reader().targets, { chainId: chain_id, what: NAME })
    if (target === undefined) throw new Error('A chain with vaults has a target')
    const { client, deployments: entries } = target
    const known = await findKnownVault(client, { entries, vault, clock: clock() }, work)
    if (known !== undefined) return { target, ...known }
    throw new CodedError(
      'INVALID_PARAMETER',
      `Cannot read parameter "vault": expected a vault of the table of chain ${chain_id}, or one that a factory of Morpho ` +
        `made, got ${vault}`,
    )
  }

  return [
    defineRoute({
      ...common,
      path: '/v1/positions/vaults/:vault/pnl',
      operation: 'vault_pnl',
      summary:
        'Counts what the shares of a wallet in one vault have brought since its first one, in the asset and in US dollars. ' +
        'The first call for a wallet may answer 503 while its history is read.',
      input: v.pipe(v.object({ ...subject, ...moment }), momentRule()),
      output: pnlOutput,
      charge: HISTORY_CHARGES.pnl,
      async read({ vault, wallet, chain_id, ...asked }, { work }) {
        const { target: newest, startBlock } = await findPlace({ vault, chain_id }, work)
        const options = { targets: [newest], moment: asked, past: reader().past, work }
        return await readAt(options, async ([target = newest]) => {
          const { client, block } = target
          return await history().readPnl({ client, vault, wallet, startBlock, block }, work)
        })
      },
      present: (told, { wallet }) => ({ data: presentPnl(told, wallet), asOf: toAsOf([told]) }),
    }),
    defineRoute({
      ...common,
      path: '/v1/positions/vaults/:vault/events',
      operation: 'vault_events',
      summary:
        'Lists what changed the shares of a wallet in one vault, newest first, with the value at its block. The first call ' +
        'for a wallet may answer 503 while its history is read.',
      input: v.object({ ...subject, page, limit }),
      output: eventsOutput,
      charge: HISTORY_CHARGES.events,
      async read({ vault, wallet, chain_id, page: number, limit: max, ...began }, { work }) {
        const { target: newest, startBlock } = await findPlace({ vault, chain_id }, work)
        const options = { targets: [newest], moment: began, past: reader().past, work }
        return await readAt(options, async ([target = newest]) => {
          const { client, block } = target
          const query = { client, vault, wallet, startBlock, block, page: number, limit: max }
          return await history().readEvents(query, work)
        })
      },
      present: ({ flows, tokens, total, block }, { page: number, limit: max }, { url }) => ({
        data: flows.map((flow) => presentEvent(flow, tokens)),
        pagination: createPagination({ page: number, limit: max, total, url }),
        asOf: toAsOf([{ block }]),
      }),
    }),
  ]
}

const HISTORY_DESCRIPTION =
  'Deposits and withdrawals count with the assets of their events. Shares that moved alone count with what they were worth ' +
  'by the vault at the end of that block, which needs an endpoint that keeps old state (an archive node). All events, added ' +
  'up, must be the wallet’s balance of shares to the unit; if they are not, the answer is 503.'
