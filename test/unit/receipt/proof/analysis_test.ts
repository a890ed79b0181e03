import { expect, test } from 'bun:test'
import { createEVM } from '@ethereumjs/evm'
import { cacheCodeAnalysis, findInterpreter } from '../../../../src/receipt/proof/run_proof.ts'

/** Jumps over an operation that is none. */
const CODE = [0x60, 0x04, 0x56, 0xfe, 0x5b]

test('a code is analyzed once, however often it is called, and a copy of its bytes once more', async () => {
  const interpreter = await findInterpreter()
  const analyze = interpreter._getValidJumpDestinations
  const analyzed: Uint8Array[] = []
  interpreter._getValidJumpDestinations = function (code) {
    analyzed.push(code)
    return analyze.call(this, code)
  }
  try {
    await cacheCodeAnalysis()
    const evm = await createEVM()
    const [code, same] = [Uint8Array.from(CODE), Uint8Array.from(CODE)]
    for (const each of [code, same, code, code, same]) {
      const { exceptionError } = await evm.runCode({ code: each, gasLimit: 100n })
      expect(exceptionError).toBeUndefined()
    }
    expect(analyzed).toEqual([code, same])
    expect(analyzed[1]).toBe(same)
  } finally {
    interpreter._getValidJumpDestinations = analyze
  }
})
