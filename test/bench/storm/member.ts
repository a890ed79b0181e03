import { join } from 'node:path'
import { type Program, type Service, spawnService } from '../../system/program/program.ts'
import { family } from '../cpu.ts'

/** One process, or parent with workers, of the service over the common database. */
export interface Member {
  readonly name: string
  /** False: something of its surroundings is broken all the time. */
  readonly isHealthy: boolean
  readonly program: Program
  service: Service | undefined
}

/** Starts a member and waits until it listens, ready or not. */
export async function startMember(member: Member): Promise<void> {
  member.service = await spawnService(member.program)
}

/** Signals a member with all its workers. */
export function signalMember({ service }: Member, signal: NodeJS.Signals): void {
  if (service !== undefined) for (const pid of family(service.pid)) signalProcess(pid, signal)
}

/** Kills one worker of a member, if it has any. */
export function killWorker({ service }: Member): void {
  const [, worker] = service === undefined ? [] : family(service.pid)
  if (worker !== undefined) signalProcess(worker, 'SIGKILL')
}

/** Kills a member and waits until it is gone. */
export async function killMember(member: Member): Promise<void> {
  const { service } = member
  member.service = undefined
  if (service === undefined) return
  for (const pid of family(service.pid)) signalProcess(pid, 'SIGKILL')
  await service.exited
}

/** Source on Bun, with its wall clock off by so much. */
export function shiftClock(program: Program, ms: number): Program {
  const [runtime = '', ...words] = program.serve
  return {
    ...program,
    env: { ...program.env, BENCH_SHIFT_MS: String(ms) },
    serve: [runtime, '--preload', join(import.meta.dir, 'shift_clock.ts'), ...words],
  }
}

function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It has ended meanwhile.
  }
}
