import * as v from 'valibot'
import type { Address } from 'viem'
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
import { limitWork, type Work } from '../../lib/async/work.ts'
import type { Clock } from '../../lib/clock.ts'
import { CodedError } from '../../lib/error.ts'
import { rational } from '../../lib/number/rational.ts'
import { sumArrived } from '../exit/present.ts'
import { createExitReader } from '../exit/read.ts'
import type { AssetReader } from '../read/read_chain.ts'
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
    const exits = createExitReader({ clients: new Map([[client.chain.id, dated]]), clock })
    const reader: Portfolio['reader'] = {
      read: async (_, within) => ({
        reads: [await assets.read({ client: dated, wallet, tokens: [], block }, within)],
        unread: [],
      }),
    }
    const target = { portfolio: () => ({ ...portfolio, reader }), exits: () => exits }
    const query = { wallet, chain_id: client.chain.id, at_block: Number(block.number) }
    const read = await readWalletExit(target, query, work)
    return toFigures(read.exit.isExecuted ? sumArrived(read) : undefined)
  }

  /** A wallet that cannot be read, or not in time, is unknown, so that it stops no other. */
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
