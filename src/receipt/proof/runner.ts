import { Worker } from 'node:worker_threads'
import { TIMED_OUT, untilAborted, withTimeout } from '../../lib/async/abort.ts'
import { createFairTurns } from '../../lib/async/fair_queue.ts'
import { type Clock, systemClock } from '../../lib/clock.ts'
import { createLru } from '../../lib/lru.ts'
import type { ProofJob, ProofReply } from './job.ts'

/** Runs proof jobs in a worker thread: a job can take a second, which must not block callers. */
export type ProofRunner = ReturnType<typeof createProofRunner>

/** Time limit of one job of a service, milliseconds: tokens of strangers can make contracts compute for long. */
export const JOB_MS_MAX = 8_000
/** How long a requester whose job was stopped gets no other. */
const REST_MS = 60_000
const RESTS_MAX = 10_000

/** Entry point of the worker thread: the source, or the file that the build puts beside the bundle. */
const PROGRAM = new URL(
  import.meta.url.endsWith('.ts') ? './worker.ts' : 'Bun' in globalThis ? './proof.worker' : './proof_worker.mjs',
  import.meta.url,
)

/**
 * Creates a runner. The worker thread starts on first use. With `jobMsMax` a longer job is stopped, and its requester
 * gets no other one for a minute; nor does one that leaves after half of that time.
 */
export function createProofRunner({
  clock = systemClock,
  jobMsMax,
}: {
  readonly clock?: Clock
  readonly jobMsMax?: number
} = {}) {
  let worker: Worker | undefined
  const turns = createFairTurns(() => 1)
  /** Until when requesters get no job, monotonic milliseconds. */
  const restsByRequester = createLru<number>({ entriesMax: RESTS_MAX })

  function terminate(): void {
    void worker?.terminate()
    worker = undefined
  }

  function getWorker(): Worker {
    if (worker !== undefined) return worker
    const newWorker = new Worker(PROGRAM)
    const forget = () => {
      if (worker === newWorker) worker = undefined
    }
    // If an idle worker dies, the next job starts a new one.
    newWorker.on('error', forget).on('exit', forget)
    newWorker.unref()
    worker = newWorker
    return newWorker
  }

  function runJob(job: ProofJob): Promise<ProofReply> {
    const jobWorker = getWorker()
    // The process stays alive until the reply; an idle worker does not keep it alive.
    jobWorker.ref()
    return new Promise<ProofReply>((resolve, reject) => {
      const onFailure = () => {
        jobWorker.off('message', onReply)
        reject(new Error('The thread of proofs has ended'))
      }
      const onReply = (reply: ProofReply) => {
        jobWorker.off('error', onFailure).off('exit', onFailure)
        resolve(reply)
      }
      jobWorker.once('message', onReply).once('error', onFailure).once('exit', onFailure)
      jobWorker.postMessage(job)
    }).finally(() => jobWorker.unref())
  }

  async function runNext(job: ProofJob, requester: string, signal: AbortSignal): Promise<ProofReply> {
    signal.throwIfAborted()
    // Its own jobs may have waited in front of this one.
    if ((restsByRequester.get(requester) ?? 0) > clock.monotonicMs()) return TOO_LONG
    const startedMs = clock.monotonicMs()
    try {
      const reply = untilAborted(runJob(job), signal)
      return await (jobMsMax === undefined ? reply : withTimeout(reply, { ms: jobMsMax, clock }))
    } catch (error) {
      // A running job can only be stopped by terminating its thread.
      terminate()
      const nowMs = clock.monotonicMs()
      // A requester that leaves shortly before the limit has taken as much.
      if (jobMsMax !== undefined && nowMs - startedMs >= jobMsMax / 2) restsByRequester.set(requester, nowMs + REST_MS)
      if (error !== TIMED_OUT) throw error
      return TOO_LONG
    }
  }

  return {
    /** Starts the thread ahead of a job, so that it is ready when the endpoints have answered. */
    prepare(): void {
      getWorker()
    },
    /**
     * Runs a job; jobs run one after another, those of requesters in turn. Throws if the thread dies or the signal is
     * aborted.
     */
    run(job: ProofJob, signal: AbortSignal, requester = ''): Promise<ProofReply> {
      return turns.run(() => runNext(job, requester, signal), { signal, requester })
    },
    close: terminate,
  }
}

const TOO_LONG: ProofReply = {
  fault: `its contracts computed for longer than ${JOB_MS_MAX / 1_000} s; ask in a minute`,
}
