import { readlinkSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import { basename } from 'node:path'
import { parentPort } from 'node:worker_threads'
import { cacheCodeAnalysis } from './code_analysis.ts'
import type { ProofJob, ProofReply } from './job.ts'
import { MissingNodeError } from './lookup.ts'
import { runProof, UnprovableError } from './run_proof.ts'

yieldToOthers()
const ready = cacheCodeAnalysis()

/** The program of the thread that runs contracts over proofs: a job in, a reply out. */
parentPort?.on('message', async (job: ProofJob) => {
  await ready
  parentPort?.postMessage(await replyTo(job))
})

async function replyTo(job: ProofJob): Promise<ProofReply> {
  try {
    return { run: await runProof(job) }
  } catch (error) {
    if (error instanceof UnprovableError) return { fault: error.message }
    if (error instanceof MissingNodeError) return { fault: 'the proof lacks what a contract reads' }
    return { fault: 'the proof cannot be read' }
  }
}

/** On Linux a thread has a priority of its own: whoever answers callers goes first. */
function yieldToOthers(): void {
  try {
    setPriority(Number(basename(readlinkSync('/proc/thread-self'))), constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {
    // Elsewhere all threads of a process are alike.
  }
}
