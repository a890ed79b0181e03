import { expect, test } from 'bun:test'
import { encodeErrorResult, parseAbi, toFunctionSelector } from 'viem'
import { explainBy } from '../../../src/family/exit.ts'

const ABI = parseAbi(['error Error(string)', 'error Panic(uint256)', 'error Stopped()', 'error EnforcedPause()'])
const say = (text: string) => encodeErrorResult({ abi: ABI, errorName: 'Error', args: [text] })
const explain = explainBy({ Odd: 'paused', 'Panic 17': 'no_liquidity', [toFunctionSelector('Stopped()')]: 'health' })

test('a refusal is found by its text, its selector or the code of its panic, in the family before the tokens', () => {
  expect(explain(say('Odd'))).toBe('paused')
  expect(explain(encodeErrorResult({ abi: ABI, errorName: 'Panic', args: [17n] }))).toBe('no_liquidity')
  expect(explain(encodeErrorResult({ abi: ABI, errorName: 'Stopped' }))).toBe('health')
  expect(explain(encodeErrorResult({ abi: ABI, errorName: 'EnforcedPause' }))).toBe('token_refuses')
  const own = explainBy({ 'Pausable: paused': 'paused' })
  expect([explain, own].map((each) => each(say('Pausable: paused')))).toEqual(['token_refuses', 'paused'])
})

test('a word that no table knows means nothing, whatever objects have by that name', () => {
  for (const word of ['toString', '__proto__', 'constructor', 'Unknown', '']) {
    expect({ word, means: explain(say(word)) }).toEqual({ word, means: undefined })
  }
  for (const reason of ['0x', '0x08c379a0', '0x4e487b71'] as const) expect(explain(reason)).toBeUndefined()
})
