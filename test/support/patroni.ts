import { chmodSync, existsSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryDirectory } from './database.ts'
import { AS_NOBODY, type FailoverPair, freePort, hasReplication, killAll, PROGRAMS } from './replication.ts'
import { waitFor } from './wait_for.ts'

const PATRONI = '/usr/bin/patroni'
const ETCD = '/usr/bin/etcd'

/** False if Patroni, etcd and PostgreSQL 15 of Debian are not all installed. */
export function hasPatroni(): boolean {
  return hasReplication() && existsSync(PATRONI) && existsSync(ETCD)
}

interface Member {
  readonly name: string
  readonly port: number
  readonly data: string
  /** Of Patroni's own HTTP server. */
  readonly restUrl: string
  readonly settings: string
  /** Undefined while it is dead. */
  patroni: Bun.Subprocess | undefined
}

/** Seconds. A leader that is silent for `ttl` is replaced; Patroni takes no less than 20. */
const PATIENCE = { ttl: 20, loop_wait: 1, retry_timeout: 3 }

/** A primary with one synchronous standby, as Patroni keeps them. */
export async function startPatroniPair(): Promise<FailoverPair> {
  const directory = temporaryDirectory()
  chmodSync(directory, 0o777)
  const etcdUrl = `http://127.0.0.1:${freePort()}`
  const peerUrl = `http://127.0.0.1:${freePort()}`
  const etcd = begin(directory, 'etcd', [
    ETCD,
    `--data-dir=${join(directory, 'etcd')}`,
    ...[`--listen-client-urls=${etcdUrl}`, `--advertise-client-urls=${etcdUrl}`],
    ...[`--listen-peer-urls=${peerUrl}`, `--initial-advertise-peer-urls=${peerUrl}`],
    `--initial-cluster=default=${peerUrl}`,
  ])
  const start = (member: Member) => {
    member.patroni = begin(directory, member.name, [PATRONI, member.settings])
  }
  const says = async ({ restUrl }: Member, path: string) => {
    const answer = await fetch(`${restUrl}/${path}`).catch(() => undefined)
    return answer?.ok === true
  }
  const members = ['one', 'two'].map((name) => createMember(directory, name, etcdUrl))
  const [one, two] = members
  if (one === undefined || two === undefined) throw new Error('No members')
  let [primary, standby]: readonly [Member, Member] = [one, two]
  const synchronous = () => waitFor('the standby to be synchronous', () => says(standby, 'sync'), 60_000)
  start(one)
  await waitFor('a primary', () => says(one, 'primary'), 60_000)
  start(two)
  await synchronous()

  return {
    url: `postgres://postgres@127.0.0.1:${one.port},127.0.0.1:${two.port}/postgres`,
    async takeOver(how) {
      const endedMs = performance.now()
      if (how === 'killed') {
        primary.patroni?.kill('SIGKILL')
        killAll(primary)
      } else {
        const body = JSON.stringify({ leader: primary.name, candidate: standby.name })
        const answer = await fetch(`${primary.restUrl}/switchover`, { method: 'POST', body })
        if (!answer.ok) throw new Error(`Patroni refused: ${await answer.text()}`)
      }
      await waitFor('the standby to be promoted', () => says(standby, 'primary'), 60_000)
      const promotedMs = performance.now()
      ;[primary, standby] = [standby, primary]
      if (how === 'killed') standby.patroni = undefined
      return { endedMs, promotedMs }
    },
    async rebuild() {
      if (standby.patroni === undefined) start(standby)
      await synchronous()
    },
    async close() {
      for (const member of members) {
        member.patroni?.kill('SIGKILL')
        killAll(member)
      }
      etcd.kill('SIGKILL')
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

function begin(directory: string, name: string, words: readonly string[]): Bun.Subprocess {
  const log = openSync(join(directory, `${name}.log`), 'a')
  return Bun.spawn([...AS_NOBODY, ...words], { cwd: '/', stdio: ['ignore', log, log] })
}

/** A member with its settings, which are JSON: a part of YAML. */
function createMember(directory: string, name: string, etcdUrl: string): Member {
  const [port, restPort] = [freePort(), freePort()]
  const data = join(directory, name)
  const user = { username: 'postgres' }
  const settings = {
    scope: 'walletscope',
    name,
    restapi: { listen: `127.0.0.1:${restPort}`, connect_address: `127.0.0.1:${restPort}` },
    etcd3: { url: etcdUrl },
    bootstrap: {
      dcs: { ...PATIENCE, synchronous_mode: true, postgresql: { use_pg_rewind: true } },
      initdb: [{ auth: 'trust' }, { encoding: 'UTF8' }, 'no-locale'],
    },
    postgresql: {
      listen: `127.0.0.1:${port}`,
      connect_address: `127.0.0.1:${port}`,
      data_dir: data,
      bin_dir: PROGRAMS,
      pgpass: join(directory, `${name}.pgpass`),
      authentication: { superuser: user, replication: user, rewind: user },
      pg_hba: ['host all all 127.0.0.1/32 trust', 'host replication all 127.0.0.1/32 trust'],
      parameters: { unix_socket_directories: '' },
    },
  }
  const path = join(directory, `${name}.yml`)
  writeFileSync(path, JSON.stringify(settings))
  return { name, port, data, restUrl: `http://127.0.0.1:${restPort}`, settings: path, patroni: undefined }
}
