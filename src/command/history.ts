import type { Database } from '../db/database.ts'
import type { IndexableHistory } from '../family/family.ts'
import { createCoverage, forgetHistory, type StoredProgress } from '../history/coverage.ts'
import { HistoryStoppedError } from '../history/finality/finality.ts'
import { HistoryFaultError } from '../history/follow/failure.ts'
import { delay } from '../lib/async/abort.ts'
import { systemClock } from '../lib/clock.ts'
import { AbortedError, UnavailableError } from '../lib/error.ts'
import { createLog } from '../lib/log.ts'
import { type Histories, openHistories } from '../service/histories.ts'
import { withAccountDatabase } from './account_database.ts'
import { type Command, type CommandArgs, CommandError, type CommandIo, parseWhole, UsageError } from './command.ts'
import { print } from './print.ts'

const BAR_CELLS = 24
/** Progress is told this often, milliseconds. */
const SAY_MS = 5_000
/** Attempts in a row without a block of progress, and the pause before each. */
const ATTEMPTS_MAX = 5
const AGAIN_MS = 10_000
const CHAIN_ID_MAX = 2 ** 52

/** `index`: reads the history of everybody ahead, so that no wallet waits for its own. */
export const indexCommand: Command = {
  name: 'index',
  options: {
    chain: 'id of the only chain to read; all that are served if absent',
    family: 'the only protocol to read, such as aave-v3; all if absent',
  },
  flags: {
    status: 'only tell what is stored',
    forget: 'forget what is stored of --chain, so that it is read anew; daily snapshots stay',
  },
  summary: 'Read the history of protocols ahead, newest first; it goes on where it stopped',
  run: async (args, io) => {
    await withAccountDatabase(io, async (db) => {
      if (args.flags.has('forget')) return await forget(args, io, db)
      if (!args.flags.has('status')) await readAhead(args, io, db)
      const stored = await createCoverage(db, '').progress()
      print(stored.map(toJson), { args, io, text: statusText(stored) })
    })
  },
}

async function readAhead(args: CommandArgs, io: CommandIo, db: Database): Promise<void> {
  const log = createLog({ level: 'error', write: io.err })
  const histories = openHistories(io.config(), { db, clock: systemClock, log })
  const wanted = histories.followed.filter((each) => isWanted(each, args))
  try {
    if (wanted.length === 0)
      throw new UsageError('Cannot find such a history: expected a served chain and its protocol')
    for (const followed of wanted) await readOne(followed, { args, io, histories })
  } catch (error) {
    if (!(error instanceof AbortedError)) throw error
    throw new CommandError('Stopped; the next time it goes on from here', { cause: error })
  } finally {
    await histories.close()
  }
}

async function forget(args: CommandArgs, io: CommandIo, db: Database): Promise<void> {
  const chainId = chainOf(args)
  if (chainId === undefined || args.flags.has('status') || args.options['family'] !== undefined)
    throw new UsageError('Cannot forget: expected --forget with --chain and nothing else')
  const forgotten = await forgetHistory(db, chainId)
  const counts = Object.entries(forgotten).map(([what, count]) => `${count.toLocaleString('en')} ${what}`)
  print(
    { chain_id: chainId, ...forgotten },
    { args, io, text: `Forgot the history of chain ${chainId}: ${counts.join(', ')}` },
  )
}

/** The only chain that is meant; undefined for all. */
function chainOf({ options: { chain } }: CommandArgs): number | undefined {
  return chain === undefined ? undefined : parseWhole(chain, { what: '--chain', min: 1, max: CHAIN_ID_MAX })
}

function isWanted({ chainId, title }: IndexableHistory, args: CommandArgs): boolean {
  const { family } = args.options
  const chain = chainOf(args)
  return (chain === undefined || chain === chainId) && (family === undefined || title.split(' ')[0] === family)
}

/** Reads one history, and tells about it now and then. What fails is tried again, as long as there is progress. */
async function readOne(
  followed: IndexableHistory,
  { args, io, histories }: { readonly args: CommandArgs; readonly io: CommandIo; readonly histories: Histories },
): Promise<void> {
  const title = `${followed.title} on chain ${followed.chainId}`
  const left = () => histories.history.working().find(({ chainId }) => chainId === followed.chainId)?.blocksLeft
  const say = (text: string) => {
    if (!args.json) io.out(`${title}: ${text}`)
  }
  const timer = setInterval(() => {
    const blocks = left()
    if (blocks !== undefined) say(`${blocks.toLocaleString('en')} blocks left …`)
  }, SAY_MS)
  let fewest = Number.POSITIVE_INFINITY
  try {
    for (let attempts = 1; ; attempts++) {
      try {
        await followed.complete(histories.history, io.stop)
        return say('complete')
      } catch (error) {
        if (!(error instanceof UnavailableError)) throw error
        if (error instanceof HistoryStoppedError)
          throw new CommandError(`${error.message}; if the chain is right, begin anew with --forget`, { cause: error })
        if (error instanceof HistoryFaultError)
          throw new CommandError(`Cannot go on with ${title}: ${error.message}`, { cause: error })
        const blocks = left() ?? fewest
        if (blocks < fewest) attempts = 1
        fewest = Math.min(fewest, blocks)
        if (attempts >= ATTEMPTS_MAX)
          throw new CommandError(`Cannot go on with ${title}: ${error.message}`, { cause: error })
        say(`${error.message}; trying again`)
        await delay(AGAIN_MS, io.stop)
      }
    }
  } finally {
    clearInterval(timer)
  }
}

function toJson({ place, stream, subjects, asked, anchor, isStopped }: StoredProgress) {
  return {
    chain_id: place.chainId,
    contract: place.contract,
    stream,
    percent: percentOf(asked),
    blocks_left: asked?.missing ?? null,
    subjects,
    final_block: anchor ?? null,
    stopped: isStopped,
  }
}

function percentOf(asked: StoredProgress['asked']): number | null {
  if (asked === undefined) return null
  return Math.floor((100 * (asked.wanted - asked.missing)) / Math.max(1, asked.wanted))
}

function statusText(stored: readonly StoredProgress[]): string {
  if (stored.length === 0) return 'No history is stored yet'
  return stored.map(lineOf).join('\n')
}

/** `[########----------------]  33 %  1,234 blocks left, 5 subjects alone  chain 1 aave_v3_lending 0x…`. */
function lineOf({ place, stream, subjects, asked, isStopped }: StoredProgress): string {
  const percent = percentOf({ wanted: 1, missing: 1, ...asked }) ?? 0
  const cells = Math.floor((percent * BAR_CELLS) / 100)
  const bar = `[${'#'.repeat(cells)}${'-'.repeat(BAR_CELLS - cells)}] ${String(percent).padStart(3)} %`
  const left = asked === undefined ? 'everybody not asked for' : `${asked.missing.toLocaleString('en')} blocks left`
  const state = isStopped ? '  STOPPED: a final block was replaced; --forget begins anew' : ''
  return `${bar}  chain ${place.chainId} ${stream} ${place.contract}  ${left}, ${subjects} subjects alone${state}`
}
