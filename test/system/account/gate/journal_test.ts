import { afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openJournal } from '../../../../src/account/gate/journal.ts'
import type { Settlement } from '../../../../src/http/exchange/gate.ts'
import { systemClock } from '../../../../src/lib/clock.ts'
import { silentLog } from '../../../../src/lib/log.ts'
import { settlement } from '../../../support/account/scene.ts'
import { temporaryDirectory } from '../../../support/database.ts'
import { createFixedClock, createTestClock } from '../../../support/test_clock.ts'
import { waitFor } from '../../../support/wait_for.ts'
import { type Keeper, startKeeper } from './keeper.ts'

const LEDGER = '5d0cbb5e-0000-4000-8000-000000000000'
/** Far longer than the tests take: only their own steps of the clock make it end. */
const LEASE_MS = 600_000
const TENDED_PER_LEASE = 5
/** Longer than the pause before a disk that took nothing is tried again. */
const RETRY_MS = 1_500

let bundle = ''
let keepers: Keeper[] = []
/** To be undone after a test, last first. */
let endings: (() => void)[] = []

beforeAll(async () => {
  const outdir = temporaryDirectory()
  const entrypoints = [join(import.meta.dir, 'journal_child.ts')]
  const { success } = await Bun.build({ entrypoints, outdir, target: 'node', naming: 'child.mjs' })
  expect(success).toBe(true)
  bundle = join(outdir, 'child.mjs')
})

afterEach(async () => {
  await Promise.all(keepers.map((keeper) => keeper.kill()))
  keepers = []
  for (const end of endings.reverse()) end()
  endings = []
})

const RUNTIMES = [
  ['Bun', () => ({ command: [process.execPath] })],
  ['Node', () => ({ command: ['node'], program: bundle })],
] as const

/** In a container every process has the same number: so have these, if the system lets us. */
const APART = ['--pid', '--map-root-user --pid']
  .map((flags) => ['unshare', ...flags.split(' '), '--fork', '--kill-child'])
  .find((command) => Bun.which('unshare') !== null && Bun.spawnSync([...command, 'true']).success)

function made(count: number): readonly Settlement[] {
  const caller = { organizationId: 'org_1', apiKeyId: 'key_1', credits: 5n, limits: [] }
  return Array.from({ length: count }, () => settlement(caller))
}

function toIds(settlements: readonly Settlement[]): readonly string[] {
  return settlements.map(({ settlementId }) => settlementId)
}

/** Ids on the disk, by file. */
function onDisk(directory: string): readonly (readonly string[])[] {
  const texts = readdirSync(directory)
    .filter((name) => name.startsWith('void-'))
    .map((name) => readFileSync(join(directory, name), 'utf8'))
  return texts.map((text) => [...text.matchAll(/"settlementId":"([^"]+)"/g)].map(([, id = '']) => id))
}

interface Disk {
  readonly name: string
  /** Makes the directory one whose disk can be filled for a process, and freed again. */
  prepare(directory: string): { fill(pid: number): void; free(pid: number): void }
}

/** A limit of the size of files needs no rights; a small disk needs those of root, and says ENOSPC. */
const LIMITED: Disk = {
  name: 'files may not grow',
  prepare: () => ({
    fill: (pid) => run(['prlimit', `--pid=${pid}`, '--fsize=4096:unlimited']),
    free: (pid) => run(['prlimit', `--pid=${pid}`, '--fsize=unlimited']),
  }),
}
const SMALL: Disk = {
  name: 'the disk is full',
  prepare(directory) {
    run(['mount', '-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', directory])
    endings.push(() => run(['umount', '-l', directory]))
    const filler = join(directory, 'filler')
    return {
      fill() {
        // Most of it at once, then page by page until nothing more fits.
        expect(() => writeFileSync(filler, Buffer.alloc(1 << 20))).toThrow('ENOSPC')
      },
      free: () => rmSync(filler),
    }
  },
}
const DISKS: readonly Disk[] = [...(Bun.which('prlimit') === null ? [] : [LIMITED]), ...(canMount() ? [SMALL] : [])]

function canMount(): boolean {
  const directory = temporaryDirectory()
  const mounted = Bun.which('mount') !== null && Bun.spawnSync(['mount', '-t', 'tmpfs', 'tmpfs', directory]).success
  if (mounted) run(['umount', directory])
  return mounted
}

function run(command: string[]): void {
  const { success, stderr } = Bun.spawnSync(command)
  if (!success) throw new Error(`Cannot run ${command[0]}: ${stderr}`)
}

describe.each(RUNTIMES)('on %s', (_, runtime) => {
  async function start(directory: string, command: readonly string[] = []): Promise<Keeper> {
    const { command: own, ...program } = runtime()
    const options = { directory, ledger: LEDGER, leaseMs: LEASE_MS, ...program }
    const keeper = await startKeeper({ ...options, command: [...command, ...own] })
    keepers.push(keeper)
    return keeper
  }

  test("processes that share a directory leave the files of the living alone, and exactly one adopts a dead one's", async () => {
    const directory = temporaryDirectory()
    const entries = made(4)
    const all: Keeper[] = []
    for (const entry of entries) {
      const keeper = await start(directory, APART)
      await keeper.append([entry])
      all.push(keeper)
    }
    if (APART !== undefined) expect(new Set((await states(all)).map(({ pid }) => pid))).toEqual(new Set([1]))
    await passTwoLeases(all)
    expect((await states(all)).map(({ ids }) => ids)).toEqual(toIds(entries).map((id) => [id]))
    expect(onDisk(directory).flat().toSorted()).toEqual(toIds(entries).toSorted())

    const [victim, ...living] = all
    await victim?.kill()
    const kept = async () => (await states(living)).flatMap(({ ids }) => ids)
    await passTwoLeases(living)
    expect(await kept()).toHaveLength(4)
    await passTwoLeases(living)
    expect((await kept()).toSorted()).toEqual(toIds(entries).toSorted())
    expect(
      onDisk(directory)
        .map((ids) => ids.length)
        .toSorted(),
    ).toEqual([1, 1, 2])
  }, 120_000)

  test('a process that was taken for dead and resumes loses nothing', async () => {
    const directory = temporaryDirectory()
    const [first, second] = [made(1), made(1)]
    const [sleeper, heir] = [await start(directory), await start(directory)]
    await sleeper.append(first)
    process.kill(sleeper.pid, 'SIGSTOP')
    await passTwoLeases([heir])
    expect((await heir.state()).ids).toEqual(toIds(first))
    process.kill(sleeper.pid, 'SIGCONT')
    expect(await sleeper.append(second)).toMatchObject({ durable: true, ids: toIds([...first, ...second]) })
    expect(onDisk(directory).flat()).toContain(toIds(second)[0] ?? '')
    await sleeper.kill()
    const ids = async () => new Set((await heir.state()).ids)
    await passTwoLeases([heir])
    expect(await ids()).toEqual(new Set(toIds([...first, ...second])))
    expect(new Set(onDisk(directory).flat())).toEqual(new Set(toIds([...first, ...second])))
  }, 120_000)

  for (const disk of DISKS) {
    test(`${disk.name}: it is reported, and once there is room again all of it is on the disk`, async () => {
      const directory = temporaryDirectory()
      const { fill, free } = disk.prepare(directory)
      const keeper = await start(directory)
      const [before, lost, after] = [made(3), made(200), made(2)]
      expect((await keeper.append(before)).durable).toBe(true)
      fill(keeper.pid)
      expect(await keeper.append(lost)).toMatchObject({ durable: false, ids: toIds([...before, ...lost]) })
      expect(keeper.log).toEqual([
        'The journal file disappeared',
        'Unknown outcomes are kept in memory only: the journal cannot be written',
      ])
      // Earlier entries stay on the disk meanwhile.
      expect(onDisk(directory).flat()).toEqual(expect.arrayContaining([...toIds(before)]))
      // The same failure is reported only once.
      for (let attempts = 0; attempts < 3; attempts += 1) expect((await keeper.tend(RETRY_MS)).durable).toBe(false)
      free(keeper.pid)
      expect((await keeper.tend(RETRY_MS)).durable).toBe(true)
      await waitFor('the log says so', async () => keeper.log.length > 2)
      expect(keeper.log.slice(2)).toEqual(['The journal is written to disk again'])
      await keeper.append(after)
      expect(onDisk(directory)).toEqual([toIds([...before, ...lost, ...after])])
      await keeper.drop(205)
      expect(onDisk(directory)).toEqual([[]])
    }, 120_000)
  }
})

test('there is a way to fill a disk here', () => {
  expect(DISKS).not.toEqual([])
})

/** Tends journals, all at the same time, for two leases. */
async function passTwoLeases(keepers: readonly Keeper[]): Promise<void> {
  for (let times = 0; times < 2 * TENDED_PER_LEASE; times += 1) {
    await Promise.all(keepers.map((keeper) => keeper.tend(LEASE_MS / TENDED_PER_LEASE)))
  }
}

function states(keepers: readonly Keeper[]) {
  return Promise.all(keepers.map((keeper) => keeper.state()))
}

test('without a writable directory nothing is durable, and lost settlements are logged at the end', async () => {
  const path = join(temporaryDirectory(), 'file')
  writeFileSync(path, '')
  const lines: object[] = []
  const log = {
    ...silentLog,
    warn: (fields: object) => lines.push(fields),
    error: (fields: object) => lines.push(fields),
  }
  const journal = await openJournal({ directory: path, ledger: LEDGER, clock: systemClock, log, entriesMax: 2 })
  const [first, second] = [made(1), made(1)]
  await journal.append(first)
  expect([journal.size, journal.isFull, journal.isDurable]).toEqual([1, false, false])
  await journal.append(second)
  expect([journal.size, journal.isFull]).toEqual([2, true])
  await journal.drop(1)
  await journal.close()
  expect(lines).toEqual([
    { msg: 'Unknown outcomes are kept in memory only: the journal cannot be written', error: 'EEXIST' },
    { msg: 'Lost unknown outcomes, which may stay charged', settlementIds: toIds(second) },
  ])
})

test('a file that never empties stays bounded', async () => {
  const directory = temporaryDirectory()
  const options = { directory, ledger: LEDGER, clock: systemClock, log: silentLog, entriesMax: 5 }
  const journal = await openJournal(options)
  let last = made(1)
  await journal.append(last)
  for (let round = 0; round < 50; round++) {
    last = made(1)
    await journal.append(last)
    await journal.drop(1)
    expect(onDisk(directory)).toHaveLength(1)
    expect(onDisk(directory)[0]?.length).toBeLessThanOrEqual(10)
    expect(onDisk(directory)[0]?.at(-1)).toBe(last[0]?.settlementId)
  }
  await journal.close()
})

test('unreadable lines are reported and the others adopted; the last one may be cut short', async () => {
  const directory = temporaryDirectory()
  mkdirSync(directory, { recursive: true })
  const [one, two] = made(2).map((each) =>
    JSON.stringify(each, (_, value) => (typeof value === 'bigint' ? String(value) : value)),
  )
  writeFileSync(join(directory, `void-${LEDGER}-0.jsonl`), `${one}\nnonsense\n${two}\n{"settlementId":"cut`)
  // Files that are not ours are left alone.
  run(['mkfifo', join(directory, `void-${LEDGER}-1.jsonl`)])
  symlinkSync('/dev/zero', join(directory, `void-${LEDGER}-2.jsonl`))
  const errors: object[] = []
  const log = { ...silentLog, error: (fields: object) => errors.push(fields) }
  let ms = 0
  const clock = createFixedClock(() => ms)
  const journal = await openJournal({ directory, ledger: LEDGER, clock, log, leaseMs: 100 })
  const tendLater = () => {
    ms += 100
    return journal.tend()
  }
  await tendLater()
  expect(journal.size).toBe(0)
  await tendLater()
  expect(journal.peek(9).map((each) => JSON.stringify(each.settlementId))).toEqual(
    [one, two].map((line) => JSON.stringify(JSON.parse(line ?? '').settlementId)),
  )
  expect(errors).toEqual([{ msg: 'Skipped unreadable lines of a recovered journal', lines: 1 }])
  await journal.drop(2)
  for (let times = 0; times < 3; times += 1) await tendLater()
  await journal.close()
  expect(readdirSync(directory).toSorted()).toEqual([`void-${LEDGER}-1.jsonl`, `void-${LEDGER}-2.jsonl`])
})

test('journals of another database are reported, and neither adopted nor removed', async () => {
  const directory = temporaryDirectory()
  const foreign = join(directory, 'void-00000000-0000-4000-8000-000000000000-0.jsonl')
  writeFileSync(
    foreign,
    `${JSON.stringify(made(1)[0], (_, value) => (typeof value === 'bigint' ? String(value) : value))}\n`,
  )
  const before = readFileSync(foreign, 'utf8')
  const warnings: object[] = []
  const log = { ...silentLog, warn: (fields: object) => warnings.push(fields) }
  const clock = createTestClock()
  const journal = await openJournal({ directory, ledger: LEDGER, clock, log, leaseMs: 100 })
  for (let times = 0; times < 5; times += 1) {
    await clock.advance(100)
    await journal.tend()
  }
  expect(journal.size).toBe(0)
  expect(readFileSync(foreign, 'utf8')).toBe(before)
  expect(warnings).toEqual([{ msg: 'Ignored journals of another database', files: 1 }])
  await journal.close()
})
