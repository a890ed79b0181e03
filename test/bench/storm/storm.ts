import { chmodSync, writeFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { openDatabase } from '../../../src/db/connection/pool.ts'
import type { Database } from '../../../src/db/database.ts'
import { startEmbedded } from '../../../src/db/embedded/embedded.ts'
import { migrate } from '../../../src/db/migrate.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { AAVE_WALLETS } from '../../devnet/aave_v3/addresses.ts'
import { SCENARIO_SEC } from '../../devnet/aave_v3/scenario.ts'
import { DEVNET_ROW } from '../../devnet/chain.ts'
import { startDevnet } from '../../devnet/mod.ts'
import { temporaryDirectory } from '../../support/database.ts'
import { mulberry } from '../../support/random.ts'
import { waitFor } from '../../support/wait_for.ts'
import { buildWhatIsStale } from '../../system/program/builds.ts'
import { executableProgram, nodeProgram, type Program, sourceProgram } from '../../system/program/program.ts'
import { createOrganizations } from '../organizations.ts'
import { printNote, printTable } from '../table.ts'
import { compareBooks } from './books.ts'
import { createCallers } from './callers.ts'
import { makeTrouble } from './faults.ts'
import { killMember, type Member, shiftClock, startMember } from './member.ts'
import { startChecker } from './receiver.ts'
import { untilMidnights, watchBlocks } from './waits.ts'

const SECONDS = 200
const SECONDS_QUICK = 40
const CALLERS = 4
const MOVE_MS = 3_000
const BLOCK_AGE_SEC_MAX = 300
const CLOCK_OFF_MS = 600_000
const PATH = `/v1/lending/aave-v3?wallet=${AAVE_WALLETS.everywhere}&chain_id=1`
/** Ether at the first fires the triggers, at the second clears them, dollars with 8 decimals. */
const PRICES = [4_000_00000000n, 2_000_00000000n] as const
const LEVELS = ['1.10', '1.09', '1.08', '1.07'] as const
const FOLLOWED = [AAVE_WALLETS.lender, AAVE_WALLETS.supplier, AAVE_WALLETS.borrower, AAVE_WALLETS.everywhere]
/** Members give back what they held, and what was claimed by a dead one is free, within twice the longest claim. */
const REST_LIMIT_MS = 130_000

/**
 * `--seconds=200`: several forms of the program on one database, of which some are always broken, while members are
 * killed, paused for longer than their leases, restarted and cut off from the database. False if one key of idempotency,
 * charge, row of the log, change or message differs from what was asked for, or if a trigger became blind.
 */
export async function benchStorm({ quick }: { readonly quick: boolean }): Promise<boolean> {
  await buildWhatIsStale()
  const asked = process.argv.find((word) => word.startsWith('--seconds='))?.split('=')[1]
  const seconds = asked === undefined ? (quick ? SECONDS_QUICK : SECONDS) : Number(asked)
  const random = mulberry(44)
  const dataDir = temporaryDirectory()
  chmodSync(dataDir, 0o755)
  const settings = { max_connections: '120' }
  const server = await startEmbedded({ dataDir, clock: systemClock, log: silentLog, settings })
  const db = openDatabase({ url: server.url, clock: systemClock, log: silentLog, max: 2 })
  const checker = startChecker(random)
  const devnet = await startDevnet({ ageSec: SCENARIO_SEC })
  let members: readonly Member[] = []
  try {
    await migrate(db)
    const [key = ''] = await createOrganizations(db, 1)
    members = createMembers(server.url, devnet.rpcUrl)
    const aave = await devnet.aave()
    const mover = createMover((price) => aave.setPrice('weth', price))
    await mover.move()
    await mover.move()
    await prepare(members[0], { key, checker, db })

    const midnights = untilMidnights(db)
    // Those that cannot work come first, and take what there is.
    for (const member of [...members].reverse()) await startMember(member)
    const stormMs = performance.now()
    const blocks = watchBlocks(db, devnet)
    const callers = createCallers({ members, key, path: PATH, random })
    const calling = callers.run(CALLERS)
    const moving = mover.run()
    const faults = await makeTrouble({ members, db, random }, stormMs + seconds * 1_000)
    mover.stop()
    await moving
    callers.stop()
    await Promise.race([calling, Bun.sleep(REST_LIMIT_MS)])
    await blocks.untilDone(REST_LIMIT_MS)
    const midnightMs = await Promise.race([midnights, Bun.sleep(REST_LIMIT_MS).then(() => Number.NaN)])
    const { rows, differs } = await compareBooks(db, {
      callers,
      checker,
      moves: mover.moves(),
      triggers: LEVELS.length,
    })
    printTable(['storm', 'seen', 'differ'], rows)
    const waits = await blocks.waits()
    printTable(
      ['longest wait, s', ''],
      [
        ['of a trigger: from the block to its durable evaluation', (waits.blockMs / 1_000).toFixed(1)],
        ['of a midnight: from the start of the first member', (midnightMs / 1_000).toFixed(1)],
        ['of a message: from its change to its delivery', waits.messageSec.toFixed(1)],
      ],
    )
    printNote(`attempts of the message that waited longest: ${waits.attempts}`)
    const list = Object.entries(faults).map(([name, times]) => `${times} × ${name}`)
    const load = loadavg().map((each) => each.toFixed(1))
    printNote(
      `${seconds} s; ${members.map(({ name }) => name).join('; ')}; ${list.join(', ')}; load average ${load.join(' ')}`,
    )
    return !differs && !Number.isNaN(midnightMs)
  } finally {
    await Promise.all(members.map(killMember))
    for (const { program } of members) program.remove()
    checker.stop()
    await db.close()
    await devnet.stop()
    await server.close()
  }
}

function createMembers(databaseUrl: string, rpcUrl: string): readonly Member[] {
  const create = (
    make: (env: Program['env']) => Program,
    own: {
      readonly name: string
      readonly isHealthy: boolean
      readonly rpcUrl?: string
      readonly env?: Program['env']
    },
  ): Member => {
    const program = make({
      PATH: process.env['PATH'] ?? '',
      CHAINS: '1',
      CHAINS_FILE: '../chains.json',
      DATABASE_URL: databaseUrl,
      WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8',
      ...own.env,
    })
    const chain = {
      ...DEVNET_ROW,
      rpcUrls: [own.rpcUrl ?? rpcUrl],
      maxBlockAgeSec: BLOCK_AGE_SEC_MAX,
      blockTimeMs: MOVE_MS,
    }
    writeFileSync(join(program.directory, '../chains.json'), JSON.stringify({ chains: [chain] }))
    return { name: own.name, isHealthy: own.isHealthy, program, service: undefined }
  }
  return [
    create(executableProgram, { name: 'executable, 2 workers', isHealthy: true, env: { WORKERS: '2' } }),
    create(nodeProgram, { name: 'bundle on Node', isHealthy: true }),
    create(executableProgram, { name: 'endpoint dead', isHealthy: false, rpcUrl: 'http://127.0.0.1:9' }),
    create((env) => shiftClock(sourceProgram(env), CLOCK_OFF_MS), { name: 'clock 10 min fast', isHealthy: false }),
    create(nodeProgram, { name: 'no egress', isHealthy: false, env: { WEBHOOK_ALLOWED_CIDRS: '' } }),
  ]
}

/** Makes a webhook, triggers and followed wallets by a healthy member, whose last midnight is then due again. */
async function prepare(
  member: Member | undefined,
  {
    key,
    checker,
    db,
  }: { readonly key: string; readonly checker: ReturnType<typeof startChecker>; readonly db: Database },
): Promise<void> {
  if (member === undefined) return
  await startMember(member)
  const call = async (path: string, body?: object): Promise<{ readonly id: string; readonly secret: string }> => {
    const answer = await fetch(`http://127.0.0.1:${member.service?.port}${path}`, {
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`Cannot prepare the storm: ${path} is answered with ${answer.status} ${text}`)
    return (JSON.parse(text) as { readonly data: { readonly id: string; readonly secret: string } }).data
  }
  await waitFor('a first answer', () =>
    call(PATH).then(
      () => true,
      () => false,
    ),
  )
  const webhook = await call('/v1/webhooks', { url: checker.url })
  checker.seen.secret = webhook.secret
  const watched = { chain_id: 1, family: 'aave-v3', subject: { wallet: AAVE_WALLETS.everywhere, market_id: 'lido' } }
  for (const below of LEVELS)
    await call('/v1/triggers', { ...watched, when: { figure: 'health_factor', below }, webhook_id: webhook.id })
  for (const wallet of FOLLOWED) await call(`/v1/lending/aave-v3/position/1/snapshots?wallet=${wallet}&market_id=main`)
  await killMember(member)
  const today = 'floor(extract(epoch from now()) / 86400)::integer'
  await db.run(`delete from lending_snapshot where day = ${today}`, [])
  await db.run(`update snapshot_series set taken_day = ${today} - 1`, [])
}

/** Moves the price below and above all levels in turn. */
function createMover(setPrice: (price: bigint) => Promise<unknown>) {
  let moves = 0
  let isOver = false
  const move = async () => {
    await setPrice(PRICES[moves % 2] ?? PRICES[0])
    moves++
  }
  return {
    move,
    async run(): Promise<void> {
      while (!isOver) {
        await move()
        await Bun.sleep(MOVE_MS)
      }
    },
    stop(): void {
      isOver = true
    },
    /** Moves since the triggers were made. */
    moves: () => moves - 2,
  }
}
