import { readlinkSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import { basename } from 'node:path'
import { parentPort } from 'node:worker_threads'
import { createEVM } from '@ethereumjs/evm'
import type { ProofJob, ProofReply } from './job.ts'
import { MissingNodeError } from './lookup.ts'
import { runProof, UnprovableError } from './run_proof.ts'

lowerPriority()
const ready = cacheCodeAnalysis()

/** Answers each job with one reply. */
parentPort?.on('message', async (job: ProofJob) => {
  await ready
  parentPort?.postMessage(await runJob(job))
})

async function runJob(job: ProofJob): Promise<ProofReply> {
  try {
    return { run: await runProof(job) }
  } catch (error) {
    if (error instanceof UnprovableError) return { fault: error.message }
    if (error instanceof MissingNodeError) return { fault: 'the proof lacks what a contract reads' }
    return { fault: 'the proof cannot be read' }
  }
}

/** Lowers this thread's priority, so that the threads that answer callers go first. Linux has priorities per thread. */
function lowerPriority(): void {
  try {
    setPriority(Number(basename(readlinkSync('/proc/thread-self'))), constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {
    // Other systems have one priority per process.
  }
}

/** Analysis of a code that the library makes before the first jump: targets, pushed words, operations. */
type Analysis = object

interface Interpreter {
  _getValidJumpDestinations(code: Uint8Array): Analysis
}

/** An operation that Ethereum does not have. */
const UNUSED = 0x0c

/**
 * Makes the library analyze a code once instead of at every call, and caches the analysis while the code is referenced:
 * lists call the same few contracts for each position, and the analysis dominated a proof's time. The analysis depends
 * on the hardfork too, which is the same for all proofs. Throws if the library no longer has the patched method.
 */
export async function cacheCodeAnalysis(): Promise<void> {
  const interpreter = await findInterpreter()
  const analyze = interpreter._getValidJumpDestinations
  if (typeof analyze !== 'function') throw new TypeError('Expected an interpreter that analyzes codes')
  const analyses = new WeakMap<Uint8Array, Analysis>()
  interpreter._getValidJumpDestinations = function (code) {
    const cached = analyses.get(code)
    if (cached !== undefined) return cached
    const analysis = analyze.call(this, code)
    analyses.set(code, analysis)
    return analysis
  }
}

/** Returns the prototype of the library's interpreters, which is reachable only from a custom operation. */
export async function findInterpreter(): Promise<Interpreter> {
  let prototype: object | undefined
  const evm = await createEVM({
    customOpcodes: [
      {
        opcode: UNUSED,
        opcodeName: 'FIND',
        baseFee: 0,
        logicFunction: ({ interpreter }) => {
          prototype = Object.getPrototypeOf(interpreter)
        },
      },
    ],
  })
  await evm.runCode({ code: Uint8Array.of(UNUSED), gasLimit: 1n })
  if (prototype === undefined) throw new TypeError('Expected an interpreter')
  return prototype as Interpreter
}
