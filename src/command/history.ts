import type { Config } from '../config/config.ts'
import type { Database } from '../db/database.ts'
import type { IndexableHistory } from '../family/contract.ts'
import { createCoverage, forgetHistory, type StoredProgress } from '../history/coverage.ts'
import { HistoryUnavailableError } from '../history/stream.ts'
import { createWork } from '../lib/async/work.ts'
import { repeat, systemClock } from '../lib/clock.ts'
import { AbortedError, UnavailableError } from '../lib/error.ts'
import { createLog } from '../lib/log.ts'
import { type Histories, openHistories } from '../service/histories.ts'
import { withAccountDatabase } from './account_database.ts'
import { type Command, type CommandArgs, CommandError, type CommandIo, parseWhole, usageError } from './command.ts'
import { formatTable, print } from './print.ts'

const BAR_CELLS = 24
/** Interval of progress messages, milliseconds. */
const PROGRESS_MS = 5_000
/** Maximum attempts in a row without progress, and the pause before each. */
const ATTEMPTS_MAX = 5
const RETRY_MS = 10_000
const CHAIN_ID_MAX = 2 ** 52
/** Longer names of contracts are shortened for a person. */
const CONTRACT_CHARS_MAX = 12

/** `index`: reads the global history ahead of requests, so that no wallet waits for its own. */
export const indexCommand: Command = {
  name: 'index',
  options: {
    chain: 'id of the only chain to index; without it all served chains',
    family: 'the only protocol to index, such as aave-v3; without it all',
  },
  flags: {
    status: 'only print what is stored; "read alone" counts wallets and positions whose own history was asked for',
    forget: 'delete the stored history of --chain, so that it is indexed again; daily snapshots stay',
  },
  example: 'index --chain 1 --family aave-v3',
  summary: 'Index protocol history ahead of requests, newest first; resumable',
  run: async (args, io) => {
    await withAccountDatabase(io, async (db) => {
      if (args.flags.has('forget')) return await forget(args, io, db)
      if (!args.flags.has('status')) await indexAll(args, io, db)
      const stored = await createCoverage(db, '').listProgress()
      print(stored.map(toJson), { args, io, text: formatStatus(stored, io.config().chains) })
    })
  },
}

async function indexAll(args: CommandArgs, io: CommandIo, db: Database): Promise<void> {
  const log = createLog({ level: 'error', write: io.err, clock: systemClock })
  const histories = openHistories(io.config(), { db, clock: systemClock, log })
  const selected = histories.indexable.filter((each) => isSelected(each, args))
  try {
    if (selected.length === 0)
      throw usageError('Cannot find a history to index: expected a served chain and its protocol')
    for (const each of selected) await indexOne(each, { args, io, histories })
  } catch (error) {
    if (!(error instanceof AbortedError)) throw error
    throw new CommandError('Stopped; the next run continues from here', { cause: error })
  } finally {
    await histories.close()
  }
}

async function forget(args: CommandArgs, io: CommandIo, db: Database): Promise<void> {
  const chainId = parseChainOption(args)
  if (chainId === undefined || args.flags.has('status') || args.options['family'] !== undefined)
    throw usageError('Cannot forget: expected --forget with --chain and nothing else')
  const forgotten = await forgetHistory(db, chainId)
  const counts = Object.entries(forgotten).map(([what, count]) => `${count.toLocaleString('en')} ${what}`)
  print(
    { chain_id: chainId, ...forgotten },
    { args, io, text: `Forgot the history of chain ${chainId}: ${counts.join(', ')}` },
  )
}

/** Parses `--chain`; undefined for all chains. */
function parseChainOption({ options: { chain } }: CommandArgs): number | undefined {
  return chain === undefined ? undefined : parseWhole(chain, { what: '--chain', min: 1, max: CHAIN_ID_MAX })
}

function isSelected({ chainId, title }: IndexableHistory, args: CommandArgs): boolean {
  const { family } = args.options
  const chain = parseChainOption(args)
  return (chain === undefined || chain === chainId) && (family === undefined || title.split(' ')[0] === family)
}

/** Indexes one history and prints progress. Retries failures as long as there is progress. */
async function indexOne(
  indexable: IndexableHistory,
  { args, io, histories }: { readonly args: CommandArgs; readonly io: CommandIo; readonly histories: Histories },
): Promise<void> {
  const title = `${indexable.title} on chain ${indexable.chainId}`
  const countBlocksLeft = () =>
    histories.history.listActive().find(({ chainId }) => chainId === indexable.chainId)?.blocksLeft
  const report = (text: string) => {
    if (!args.json) io.out(`${title}: ${text}`)
  }
  const stopReports = repeat(systemClock, PROGRESS_MS, () => {
    const blocks = countBlocksLeft()
    if (blocks !== undefined) report(`${blocks.toLocaleString('en')} blocks left …`)
  })
  let blocksMin = Number.POSITIVE_INFINITY
  try {
    for (let attempts = 1; ; attempts++) {
      try {
        await indexable.complete(histories.history, createWork(io.stop))
        return report('complete')
      } catch (error) {
        if (!(error instanceof UnavailableError)) throw error
        if (error instanceof HistoryUnavailableError && error.reason === 'stopped')
          throw new CommandError(`${error.message}; if the chain is correct, rebuild it with --forget`, {
            cause: error,
          })
        if (error instanceof HistoryUnavailableError)
          throw new CommandError(`Cannot continue indexing ${title}: ${error.message}`, { cause: error })
        const blocks = countBlocksLeft() ?? blocksMin
        if (blocks < blocksMin) attempts = 1
        blocksMin = Math.min(blocksMin, blocks)
        if (attempts >= ATTEMPTS_MAX)
          throw new CommandError(`Cannot continue indexing ${title}: ${error.message}`, { cause: error })
        report(`${error.message}; trying again`)
        await systemClock.sleep(RETRY_MS, io.stop)
      }
    }
  } finally {
    stopReports()
  }
}

function toJson({ target: place, stream, subjects, requested: asked, anchor, isStopped }: StoredProgress) {
  return {
    chain_id: place.chainId,
    contract: place.contract,
    stream,
    percent: computePercent(asked),
    blocks_left: asked?.missing ?? null,
    subjects,
    final_block: anchor ?? null,
    stopped: isStopped,
  }
}

function computePercent(asked: StoredProgress['requested']): number | null {
  if (asked === undefined) return null
  return Math.floor((100 * (asked.blocks - asked.missing)) / Math.max(1, asked.blocks))
}

/**
 * A table of the stored histories for a person: how much of each is indexed, or that only single wallets and positions were
 * asked about. Chains that are not served have no name.
 */
export function formatStatus(stored: readonly StoredProgress[], chains: Config['chains']): string {
  if (stored.length === 0) return 'No history is stored yet'
  const names = new Map(chains.map(({ id, name }) => [id, `${name} (${id})`]))
  const toChainName = (id: number) => names.get(id) ?? `chain ${id}`
  const rows = stored.map(({ target, stream, subjects, requested }) => ({
    chain: toChainName(target.chainId),
    history: formatStream(stream),
    contract: formatContract(target.contract),
    indexed: requested === undefined ? 'not asked for' : formatBar(computePercent(requested) ?? 0),
    'blocks left': requested === undefined ? null : requested.missing.toLocaleString('en'),
    'read alone': subjects.toLocaleString('en'),
  }))
  const stoppedIds = new Set(stored.filter(({ isStopped }) => isStopped).map(({ target }) => target.chainId))
  const stops = [...stoppedIds].map(
    (id) =>
      `${toChainName(id)} STOPPED: a final block was replaced; if the chain is correct, rebuild it: walletscope index --chain ${id} --forget`,
  )
  return [formatTable(rows), ...stops].join('\n')
}

/** `uniswap_v3_flow` as `Uniswap V3, flows`. */
function formatStream(stream: string): string {
  const words = stream.split('_').map((word) => word.charAt(0).toUpperCase() + word.slice(1))
  const last = stream.split('_').at(-1) ?? ''
  return `${words.slice(0, -1).join(' ')}, ${PLURALS[last] ?? last}`
}

const PLURALS: Readonly<Record<string, string>> = {
  flow: 'flows of positions',
  change: 'changes of positions',
  transfer: 'owners of positions',
  custody: 'stakes and rewards',
  wallet: 'rewards of wallets',
  lending: 'deposits and debts',
  market: 'markets',
}

/** `0x8787…4e2b`; `every contract` for the one of no logs in particular. */
function formatContract(contract: string): string {
  if (contract === '0x') return 'every contract'
  return contract.length <= CONTRACT_CHARS_MAX ? contract : `${contract.slice(0, 6)}…${contract.slice(-4)}`
}

/** `[########----------------]  33 %`. */
function formatBar(percent: number): string {
  const cells = Math.floor((percent * BAR_CELLS) / 100)
  return `[${'#'.repeat(cells)}${'-'.repeat(BAR_CELLS - cells)}] ${String(percent).padStart(3)} %`
}
