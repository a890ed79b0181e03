import * as v from 'valibot'
import type { Address } from 'viem'
import { noteWitnesses } from '../../chain/past/quorum.ts'
import {
  type ConfirmedFigures,
  SAMPLING,
  type Watchable,
  type Watcher,
  type WatchSubject,
  type WatchTarget,
} from '../../family/watch.ts'
import type { FinanceClient } from '../../finance/chain.ts'
import { formatUsdE6 } from '../../finance/figure.ts'
import { toDatedClient } from '../../finance/price/past/dated_client.ts'
import { evmAddress } from '../../http/request/input.ts'
import { mapChunks } from '../../lib/async/parallel.ts'
import { limitWork, tellUnwitnessed, type Work } from '../../lib/async/work.ts'
import type { Clock } from '../../lib/clock.ts'
import { CodedError } from '../../lib/error.ts'
import { rational } from '../../lib/number/rational.ts'
import { sumArrived } from '../exit/present.ts'
import { createExitReader } from '../exit/read.ts'
import type { AssetReader, ChainAssets } from '../read/read_chain.ts'
import { readWalletExit } from './exit.ts'
import type { Portfolio } from './rows.ts'

/** Figures of a wallet on a chain that triggers can watch. */
export const WATCHABLE: Watchable = {
  subject: () => v.strictObject({ wallet: evmAddress }),
  figures: { exit_usd: 'number' },
  sampled: ['exit_usd'],
  events: [],
  answerPath: ({ wallet }, chainId, blockNumber) =>
    `/v1/portfolio/exit?wallet=${wallet}&chain_id=${chainId}&at_block=${blockNumber}`,
}

/** Wallets whose exits are executed concurrently. */
const PIECES = { size: 1, runningMax: 2 } as const
/** Time limit of one wallet, so that all of a block take no longer than they may together, milliseconds. */
const WALLET_MS = (SAMPLING.ms * PIECES.runningMax) / SAMPLING.subjectsMax

/** Creates the reader of wallets' exits, for triggers. */
export function createWatcher(options: {
  readonly portfolio: Omit<Portfolio, 'reader'>
  readonly reader: AssetReader
  readonly chainIds: ReadonlySet<number>
  readonly clock: Clock
}): Watcher {
  const { portfolio, reader: assets, chainIds, clock } = options

  async function readWallet(wallet: Address, { client, block }: WatchTarget, work: Work): Promise<ConfirmedFigures> {
    const dated = toDatedClient(toBackgroundClient(client))
    const exits = createExitReader({ clients: new Map([[client.chain.id, dated]]), clock, isCompared: true })
    const reader: Portfolio['reader'] = {
      async read(_, within) {
        const options = { toText: toComparedText, work: within }
        const { value, endpoints } = await assets.readAgreed({ client: dated, wallet, tokens: [], block }, options)
        noteWitnesses(client, endpoints.length, within)
        return { reads: [{ ...value, untilMs: 0 }], unread: [] }
      },
    }
    const target = { portfolio: () => ({ ...portfolio, reader }), exits: () => exits }
    const query = { wallet, chain_id: client.chain.id, at_block: Number(block.number) }
    const { value: read, unwitnessed } = await tellUnwitnessed(work, (own) => readWalletExit(target, query, own))
    const isOneWord = unwitnessed.size > 0 && client.chain.rpcUrls.length > 1
    return toFigures(read.exit.isExecuted && !isOneWord ? sumArrived(read) : undefined)
  }

  /**
   * A wallet that cannot be read, or not in time, is unknown, so that it stops no other; so is one of which a single endpoint
   * alone tells, unless the chain has no other.
   */
  async function readOrMiss({ wallet }: WatchSubject, target: WatchTarget, work: Work): Promise<ConfirmedFigures> {
    const limited = limitWork(work, clock.timeout(WALLET_MS))
    try {
      return await readWallet(wallet as Address, target, limited)
    } catch (error) {
      work.signal.throwIfAborted()
      if (error instanceof CodedError || limited.signal.aborted) return toFigures(undefined)
      throw error
    }
  }

  return {
    chainIds,
    confirm: (subjects, target, work) =>
      mapChunks(
        subjects,
        PIECES,
        (piece, within) => Promise.all(piece.map((subject) => readOrMiss(subject, target, within))),
        work,
      ),
  }
}

/** What endpoints compare of a wallet: all that its exit is made of. */
function toComparedText({ assets, omitted }: ChainAssets): string {
  return JSON.stringify([assets, omitted], (_, value) => (typeof value === 'bigint' ? String(value) : value))
}

/** What arrives of a wallet, in millionths of a US dollar, as figures; undefined if it is unknown. */
function toFigures(arrivedE6: bigint | undefined): ConfirmedFigures {
  return {
    value: () => (arrivedE6 === undefined ? undefined : rational(arrivedE6, 1_000_000n)),
    text: () => (arrivedE6 === undefined ? null : formatUsdE6(arrivedE6)),
    memo: undefined,
  }
}

/** The client whose reads let those of callers go first. */
function toBackgroundClient(client: FinanceClient): FinanceClient {
  return { ...client, read: (attempt, options) => client.read(attempt, { ...options, priority: 'background' }) }
}
