import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { spawn } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findRunningEmbedded } from '../../../../src/db/embedded/embedded.ts'
import { IS_FULL } from '../../../support/cases.ts'
import { dataDirectory, serverPids, temporaryDirectory } from '../../../support/database.ts'
import { embeddedFixture, runStatement } from '../../../support/embedded.ts'
import { IS_ROOT, runAs, startAs } from '../../../support/other_user.ts'
import { waitFor } from '../../../support/wait_for.ts'

setDefaultTimeout(60_000)

const NOBODY = 65_534
const STRANGER = 12_345
/** PostgreSQL's user while the service is root. */
const SERVER = 60_873

const { programParent, closers, start } = embeddedFixture()

/** Files of root that others may read, and must not change through the service. */
function victim(): string {
  const path = mkdtempSync(join(tmpdir(), 'walletscope-victim-'))
  closers.push(() => rmSync(path, { recursive: true, force: true }))
  chmodSync(path, 0o755)
  mkdirSync(join(path, 'inside'))
  writeFileSync(join(path, 'inside', 'file'), 'precious')
  writeFileSync(join(path, 'file'), 'precious')
  return path
}

/** Everything that could be seen of a change below a path. */
function snapshot(path: string): readonly string[] {
  const { uid, gid, mode, nlink } = lstatSync(path)
  const line = [path, uid, gid, mode.toString(8), nlink].join(' ')
  if (!lstatSync(path).isDirectory()) return [`${line} ${readFileSync(path, 'utf8')}`]
  return [
    line,
    ...readdirSync(path)
      .sort()
      .flatMap((name) => snapshot(join(path, name))),
  ]
}

/**
 * Puts links to the victim under every name that the service might use, in every directory below `root` that the user
 * of the script can write to, other things of that name moved away; prints the links that it could make.
 */
const PLANT = `
const fs = require('node:fs'), { join } = require('node:path')
const [root, victim, pid] = process.argv.slice(2)
const names = ['postgres', 'owner.pid', 'owner.lock', 'socket', 'journal', 'cluster-18', 'creating-000000', 'cluster-18.tmp-1',
  'access.conf', 'access.conf.tmp', 'access_users.conf', 'access_users.conf.tmp', 'postmaster.pid', 'postmaster.opts',
  '.s.PGSQL.5432', '.s.PGSQL.5432.lock', 'program-18.4.0-beta.17-linux-x64.tmp-1']
const made = []
const attempt = (act) => { try { act(); return true } catch { return false } }
function plant(directory) {
  let entries = []
  attempt(() => { entries = fs.readdirSync(directory, { withFileTypes: true }) })
  for (const entry of entries) if (entry.isDirectory()) plant(join(directory, entry.name))
  // What cannot be listed may be entered all the same.
  if (entries.length === 0) for (const name of names) if (attempt(() => fs.statSync(join(directory, name, '.')))) plant(join(directory, name))
  for (const name of names) {
    const path = join(directory, name)
    if (name !== 'cluster-18') attempt(() => fs.renameSync(path, path + '.moved'))
    const target = /pid|conf|lock|opts|PGSQL/.test(name) ? join(victim, 'file') : victim
    if (attempt(() => fs.symlinkSync(target, path))) made.push(path)
  }
  if (attempt(() => fs.writeFileSync(join(directory, 'socket_directory'), victim))) made.push(join(directory, 'socket_directory'))
  if (pid !== '0' && directory.endsWith('cluster-18')) {
    attempt(() => { fs.rmSync(join(directory, 'postmaster.pid'), { force: true }); fs.writeFileSync(join(directory, 'postmaster.pid'), pid + '\\n' + directory + '\\n1\\n') })
  }
}
plant(root)
console.log(made.join('\\n'))
`

/** `owner_process.ts` as one script, for a user who cannot read this checkout. */
async function ownerScript(): Promise<string> {
  const { outputs } = await Bun.build({ entrypoints: [join(import.meta.dir, 'owner_process.ts')], target: 'bun' })
  return outputs[0]?.text() ?? ''
}

/**
 * Reports which of the database's processes it sees during creation, and writes a file into every directory of theirs,
 * below `root`, that it can: through the path, and through what the system shows of processes of the same user. It
 * looks only at descendants of process `ancestor`, not at other processes of `nobody`.
 */
const SPY = `
const fs = require('node:fs'), { join } = require('node:path')
const [root, ancestor] = process.argv.slice(2)
const seen = new Set()
const tell = (what) => { if (!seen.has(what)) console.log(what); seen.add(what) }
const attempt = (act) => { try { return act() } catch { return undefined } }
const field = (pid, name) => attempt(() => fs.readFileSync('/proc/' + pid + '/status', 'utf8').split('\\n')
  .find((line) => line.startsWith(name + ':')).slice(name.length + 1).trim().split('\\t')[0])
const isOurs = (pid) => { for (let at = pid; at > 1; at = Number(field(at, 'PPid') ?? 0)) if (at === Number(ancestor)) return true; return false }
function write(place) {
  const path = attempt(() => fs.realpathSync(place))
  if (path === undefined || !(path + '/').startsWith(root + '/')) return
  tell('entered')
  attempt(() => { fs.writeFileSync(join(place, 'PLANTED'), ''); tell('planted') })
}
console.log('looking')
setInterval(() => {
  for (const place of [root, join(root, 'postgres')]) {
    write(place)
    for (const name of attempt(() => fs.readdirSync(place)) ?? []) write(join(place, name))
  }
  for (const pid of fs.readdirSync('/proc').filter((name) => /^[0-9]+$/.test(name)).map(Number)) {
    if (field(pid, 'Uid') !== String(process.getuid()) || pid === process.pid || !isOurs(pid)) continue
    tell('process ' + field(pid, 'Name'))
    write('/proc/' + pid + '/cwd')
    for (const name of attempt(() => fs.readdirSync('/proc/' + pid + '/fd')) ?? []) write('/proc/' + pid + '/fd/' + name)
  }
}, 1)
`

/** Sends a startup message to a socket; returns the protocol's letter with a code, or an error. */
const CONNECT = `
const body = Buffer.from('user\\0walletscope\\0database\\0postgres\\0\\0'), head = Buffer.alloc(8)
head.writeInt32BE(8 + body.length, 0); head.writeInt32BE(196608, 4)
const socket = require('node:net').connect(process.argv[2])
const end = (text) => { console.log(text); process.exit(0) }
socket.on('error', (error) => end(error.code)).on('close', () => end('closed'))
socket.on('connect', () => socket.write(Buffer.concat([head, body])))
socket.on('data', (data) => end(String.fromCharCode(data[0]) + (/C(\\w{5})\\0/.exec(data.toString('latin1'))?.[1] ?? '')))
`

// As an ordinary user the service has only its own user's rights.
describe.if(IS_ROOT)('as root', () => {
  test.each([{ who: 'nobody', uid: NOBODY }, ...(IS_FULL ? [{ who: 'any other user', uid: STRANGER }] : [])])(
    '$who finds nothing in the data directory to write to, and start, stop and restart touch nothing outside',
    async ({ uid }) => {
      const dataDir = await dataDirectory()
      const outside = victim()
      const before = snapshot(outside)
      const first = await start(dataDir)
      await runStatement(first.url, 'create table kept as select 7 as value')
      const planted = runAs(uid, PLANT, [dataDir, outside, '0'])
      await first.close()
      const plantedLater = runAs(uid, PLANT, [dataDir, outside, '0'])
      await start(dataDir).then(
        (server) => server.close(),
        () => undefined,
      )
      expect(snapshot(outside)).toEqual(before)
      expect([planted, plantedLater]).toEqual(['', ''])
      const last = await start(dataDir)
      expect(await runStatement(last.url, 'select value from kept')).toEqual([{ value: 7 }])
      await last.close()
    },
  )

  test('links and pid files planted by PostgreSQL’s own user have no effect', async () => {
    const dataDir = await dataDirectory()
    const outside = victim()
    const before = snapshot(outside)
    const bystander = spawn('/bin/sleep', ['60'], { cwd: join(dataDir), stdio: 'ignore' })
    closers.push(() => bystander.kill('SIGKILL'))
    await (await start(dataDir)).close()
    for (let round = 0; round < 2; round++) {
      expect(runAs(SERVER, PLANT, [dataDir, outside, String(bystander.pid)])).toContain('cluster-18')
      // It may well keep the service from starting.
      await start(dataDir).then(
        (server) => server.close(),
        () => undefined,
      )
    }
    const planted = await start(dataDir).catch(() => undefined)
    if (planted !== undefined) {
      runAs(SERVER, PLANT, [dataDir, outside, String(bystander.pid)])
      await planted.close()
    }
    expect(snapshot(outside)).toEqual(before)
    expect(bystander.exitCode ?? bystander.signalCode).toBeNull()
  })

  test('while the database is created, another process of `nobody` cannot access it', async () => {
    const dataDir = temporaryDirectory()
    const spy = startAs(NOBODY, SPY, [dataDir, String(process.pid)])
    await waitFor('the spy to look', () => spy.printed().includes('looking'))
    const server = await start(dataDir)
    await server.close()
    const seen = await spy.stop()
    // It has looked while the database was made, or this would prove nothing.
    expect(seen).toContain('process initdb')
    expect(seen).not.toContain('planted')
    expect(Bun.spawnSync(['find', dataDir, '-name', 'PLANTED']).stdout.toString()).toBe('')
    expect(Bun.spawnSync(['find', dataDir, '-uid', String(NOBODY)]).stdout.toString()).toBe('')
  })

  test('`nobody` and other users get no session, even if directories are left open; root does', async () => {
    const dataDir = await dataDirectory()
    const server = await start(dataDir)
    const socket = join(dataDir, 'postgres', 'socket', '.s.PGSQL.5432')
    for (const uid of [NOBODY, STRANGER]) expect(runAs(uid, CONNECT, [socket])).toBe('EACCES')
    for (const path of [join(dataDir, 'postgres'), join(dataDir, 'postgres', 'socket'), socket]) chmodSync(path, 0o777)
    for (const uid of [NOBODY, STRANGER, SERVER]) expect(runAs(uid, CONNECT, [socket])).toBe('E28000')
    expect(runAs(0, CONNECT, [socket])).toBe('R')
    expect(await runStatement(server.url, 'select system_user')).toEqual([{ system_user: 'peer:root' }])
    await server.close()
  })

  test('PostgreSQL runs as a user and a group of its own, without any of root’s', async () => {
    const dataDir = await dataDirectory()
    const server = await start(dataDir)
    // A process that PostgreSQL began for a moment may be gone by now.
    const statuses = serverPids(dataDir)
      .map((pid) => `/proc/${pid}/status`)
      .filter((path) => existsSync(path))
      .map((path) => readFileSync(path, 'utf8'))
    expect(statuses.length).toBeGreaterThan(1)
    for (const status of statuses) {
      const four = Array.from({ length: 4 }, () => SERVER).join('\t')
      expect(status).toContain(`Uid:\t${four}\n`)
      expect(status).toContain(`Gid:\t${four}\n`)
      expect(/^Groups:(.*)$/m.exec(status)?.[1]?.trim()).toMatch(new RegExp(`^(${SERVER})?$`))
    }
    await server.close()
  })

  test.each([
    { what: 'belongs to another user', prepare: (path: string) => chownSync(path, STRANGER, STRANGER) },
    { what: 'is writable by all users', prepare: (path: string) => chmodSync(path, 0o777) },
    { what: 'is writable by a group', prepare: (path: string) => chmodSync(path, 0o775) },
  ])('a data directory that $what is refused, and so is one below it; nothing is made there', async ({ prepare }) => {
    const dataDir = temporaryDirectory()
    prepare(dataDir)
    closers.push(() => rmSync(dataDir, { recursive: true }))
    const below = join(dataDir, 'below', 'data')
    await expect(start(dataDir)).rejects.toThrow(`Cannot use "${dataDir}" as root: "${dataDir}" `)
    await expect(start(below)).rejects.toThrow(`Cannot use "${below}" as root: "${dataDir}" `)
    expect(readdirSync(dataDir)).toEqual([])
  })

  test('a home that is a link, or another user’s, is refused with the remedy', async () => {
    const dataDir = temporaryDirectory()
    const outside = victim()
    const before = snapshot(outside)
    symlinkSync(outside, join(dataDir, 'postgres'))
    await expect(start(dataDir)).rejects.toThrow('expected a directory, got a link or a file')
    expect(snapshot(outside)).toEqual(before)

    const old = temporaryDirectory()
    const server = await start(old)
    await runStatement(server.url, 'create table kept as select 7 as value')
    await server.close()
    // As the first versions left it.
    Bun.spawnSync(['chown', '-hR', `${NOBODY}:${NOBODY}`, join(old, 'postgres')])
    const refusal: Error = await start(old).then(
      () => new Error('it started'),
      (error) => error,
    )
    expect(refusal.message).toContain(`it belongs to uid ${NOBODY}, not to uid 0`)
    const [, remedy = 'false'] = /run: (.*)$/.exec(refusal.message) ?? []
    expect(Bun.spawnSync(['sh', '-c', remedy]).success).toBe(true)
    const adopted = await start(old)
    expect(await runStatement(adopted.url, 'select value from kept')).toEqual([{ value: 7 }])
    await adopted.close()
  })

  test.if(Bun.spawnSync(['unshare', '-r', 'true']).success)('a container without that user is told so', () => {
    const dataDir = temporaryDirectory()
    const owner = ['unshare', '-r', process.execPath, join(import.meta.dir, 'owner_process.ts'), dataDir, programParent]
    const { stderr, exitCode } = Bun.spawnSync(owner)
    expect(exitCode).toBe(1)
    expect(stderr.toString()).toContain(
      `to uid ${SERVER}, which PostgreSQL runs as: this container has no such user; run walletscope as another user`,
    )
  })

  test('the user `nobody` cannot hold the lock of a data directory', async () => {
    const dataDir = await dataDirectory()
    await (await start(dataDir)).close()
    const tried = runAs(
      NOBODY,
      `try { require('node:fs').openSync(process.argv[2], 'r'); console.log('opened') } catch (error) { console.log(error.code) }`,
      [join(dataDir, 'owner.lock')],
    )
    expect(tried).toBe('EACCES')
  })

  test('a user without a name gets an error that PostgreSQL needs one', async () => {
    const dataDir = temporaryDirectory()
    chownSync(dataDir, STRANGER, STRANGER)
    closers.push(() => rmSync(dataDir, { recursive: true, force: true }))
    const script = await ownerScript()
    expect(() => runAs(STRANGER, script, [dataDir, programParent])).toThrow(
      `Cannot start the embedded database: uid ${STRANGER} has no entry in /etc/passwd, which PostgreSQL needs; ` +
        'add one, run as another user, or set DATABASE_URL',
    )
  })

  test('as an ordinary user the service lets only itself and root in', async () => {
    const dataDir = temporaryDirectory()
    chownSync(dataDir, NOBODY, NOBODY)
    closers.push(() => rmSync(dataDir, { recursive: true, force: true }))
    // Root unpacks the programs, because a service of `nobody` could not write there.
    await (await start(temporaryDirectory())).close()
    const service = startAs(NOBODY, await ownerScript(), [dataDir, programParent])
    closers.push(() => service.stop())
    await waitFor('the database of nobody', async () => service.printed().includes('postgres://'), 30_000)

    const running = await findRunningEmbedded(dataDir)
    expect(await runStatement(running?.url ?? '', 'select system_user')).toEqual([{ system_user: 'peer:root' }])
    await running?.close()
    const socket = join(dataDir, 'postgres', 'socket', '.s.PGSQL.5432')
    expect(runAs(NOBODY, CONNECT, [socket])).toBe('R')
    expect(runAs(STRANGER, CONNECT, [socket])).toBe('EACCES')
    for (const path of [dataDir, join(dataDir, 'postgres'), join(dataDir, 'postgres', 'socket'), socket])
      chmodSync(path, 0o777)
    expect(runAs(STRANGER, CONNECT, [socket])).toBe('E28000')
    await service.stop()
  })
})
