import { createEVM } from '@ethereumjs/evm'

/** What the library finds in a code before the first jump: targets, pushed words, operations. */
type Analysis = object

interface Interpreter {
  _getValidJumpDestinations(code: Uint8Array): Analysis
}

/** An operation that Ethereum does not have. */
const UNUSED = 0x0c

/**
 * Lets the library analyze a code once instead of in every call of it, for as long as somebody holds the code: lists
 * call the same few contracts for each position, and most of a proof's time went there. What it finds depends on the
 * hardfork too, which is the same for all proofs. Throws if the library does not analyze codes there any more.
 */
export async function cacheCodeAnalysis(): Promise<void> {
  const interpreter = await findInterpreter()
  const analyze = interpreter._getValidJumpDestinations
  if (typeof analyze !== 'function') throw new TypeError('Expected an interpreter that analyzes codes')
  const analyses = new WeakMap<Uint8Array, Analysis>()
  interpreter._getValidJumpDestinations = function (code) {
    const known = analyses.get(code)
    if (known !== undefined) return known
    const made = analyze.call(this, code)
    analyses.set(code, made)
    return made
  }
}

/** The methods of all interpreters, which the library shows to nothing but operations. */
export async function findInterpreter(): Promise<Interpreter> {
  let found: object | undefined
  const evm = await createEVM({
    customOpcodes: [
      {
        opcode: UNUSED,
        opcodeName: 'FIND',
        baseFee: 0,
        logicFunction: ({ interpreter }) => {
          found = Object.getPrototypeOf(interpreter)
        },
      },
    ],
  })
  await evm.runCode({ code: Uint8Array.of(UNUSED), gasLimit: 1n })
  if (found === undefined) throw new TypeError('Expected an interpreter')
  return found as Interpreter
}
