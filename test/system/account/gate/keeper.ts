import { join } from 'node:path'
import type { Settlement } from '../../../../src/http/exchange/gate.ts'
import { eachLine } from '../../../devnet/supervised.ts'

/** What a keeper reports. */
export interface KeeperState {
  /** As the process itself sees it. */
  readonly pid: number
  readonly durable: boolean
  /** Settlements that it keeps. */
  readonly ids: readonly string[]
}

/** A process of its own with a journal, see `journal_child.ts`. */
export interface Keeper {
  /** As this process sees it. */
  readonly pid: number
  /** Messages of its log, up to now. */
  readonly log: readonly string[]
  append(settlements: readonly Settlement[]): Promise<KeeperState>
  drop(count: number): Promise<KeeperState>
  /** Lets its clock go on by so many milliseconds and tends the journal. */
  tend(afterMs: number): Promise<KeeperState>
  state(): Promise<KeeperState>
  /** `kill -9`; resolves when it is gone. */
  kill(): Promise<void>
}

/** Starts one; resolves when its first file exists. */
export async function startKeeper(options: {
  readonly directory: string
  readonly ledger: string
  readonly leaseMs?: number
  /** Command before the path of its program. @default Bun */
  readonly command?: readonly string[]
  readonly program?: string
}): Promise<Keeper> {
  const { directory, ledger, leaseMs = 1_000, command = [process.execPath] } = options
  const program = options.program ?? join(import.meta.dir, 'journal_child.ts')
  const child = Bun.spawn([...command, program, directory, ledger, String(leaseMs)], {
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'inherit',
  })
  const log: string[] = []
  const waiting: ((state: KeeperState) => void)[] = []
  const next = () => new Promise<KeeperState>((resolve) => waiting.push(resolve))
  const first = next()
  void eachLine(child.stdout, (line) => {
    const value = JSON.parse(line)
    if ('msg' in value) log.push(value.msg)
    else waiting.shift()?.(value)
  })
  const ask = async (order: object): Promise<KeeperState> => {
    const answer = next()
    child.stdin.write(`${JSON.stringify(order, (_, value) => (typeof value === 'bigint' ? String(value) : value))}\n`)
    await child.stdin.flush()
    return answer
  }
  await first
  return {
    pid: child.pid,
    log,
    append: (append) => ask({ append }),
    drop: (drop) => ask({ drop }),
    tend: (tend) => ask({ tend }),
    state: () => ask({}),
    async kill() {
      child.kill('SIGKILL')
      await child.exited
    },
  }
}
