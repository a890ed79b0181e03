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
import { print } from './print.ts'

const BAR_CELLS = 24
/** Interval of progress messages, milliseconds. */
const PROGRESS_MS = 5_000
/** Maximum attempts in a row without progress, and the pause before each. */
const ATTEMPTS_MAX = 5
const RETRY_MS = 10_000
const CHAIN_ID_MAX = 2 ** 52

/** `index`: reads the global history ahead of requests, so that no wallet waits for its own. */
export const indexCommand: Command = {
  name: 'index',
  options: {
    chain: 'id of the only chain to index; without it all served chains',
    family: 'the only protocol to index, such as aave-v3; without it all',
  },
  flags: {
    status: 'only print what is stored',
    forget: 'delete the stored history of --chain, so that it is indexed again; daily snapshots stay',
  },
  summary: 'Index protocol history ahead of requests, newest first; resumable',
  run: async (args, io) => {
    await withAccountDatabase(io, async (db) => {
      if (args.flags.has('forget')) return await forget(args, io, db)
      if (!args.flags.has('status')) await indexAll(args, io, db)
      const stored = await createCoverage(db, '').listProgress()
      print(stored.map(toJson), { args, io, text: formatStatus(stored) })
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

function formatStatus(stored: readonly StoredProgress[]): string {
  if (stored.length === 0) return 'No history is stored yet'
  return stored.map(formatLine).join('\n')
}

/** `[########----------------]  33 %  1,234 blocks left, 5 subjects alone  chain 1 aave_v3_lending 0x…`. */
function formatLine({ target: place, stream, subjects, requested: asked, isStopped }: StoredProgress): string {
  const percent = computePercent({ blocks: 1, missing: 1, ...asked }) ?? 0
  const cells = Math.floor((percent * BAR_CELLS) / 100)
  const bar = `[${'#'.repeat(cells)}${'-'.repeat(BAR_CELLS - cells)}] ${String(percent).padStart(3)} %`
  const remaining =
    asked === undefined ? 'global history not requested' : `${asked.missing.toLocaleString('en')} blocks left`
  const state = isStopped ? '  STOPPED: a final block was replaced; rebuild with --forget' : ''
  return `${bar}  chain ${place.chainId} ${stream} ${place.contract}  ${remaining}, ${subjects} subjects alone${state}`
}
