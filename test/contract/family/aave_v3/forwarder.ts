import { type Address, concatHex, type Hex, numberToHex, size } from 'viem'

/** What replaces a function: an answer of its own, or a revert. */
export type Instead = Hex | 'reverts'

const HEAD_BYTES = 6
const TEST_BYTES = 11
const REVERT: Hex = '0x60006000fd'

/**
 * Runtime code of a contract that passes every question on to `target` and answers as it does, but for the functions
 * given by selector: a real pool of a version that never was deployed here.
 */
export function forwarderCode(target: Address, instead: Readonly<Record<Hex, Instead>>): Hex {
  const entries = Object.entries(instead) as [Hex, Instead][]
  const pass = passCode(target, HEAD_BYTES + TEST_BYTES * entries.length)
  let at = HEAD_BYTES + TEST_BYTES * entries.length + size(pass)
  const tests: Hex[] = []
  const answers: Hex[] = []
  for (const [selector, answer] of entries) {
    // DUP1, PUSH4 selector, EQ, PUSH2 place, JUMPI
    tests.push(concatHex(['0x80', '0x63', selector, '0x14', '0x61', word16(at), '0x57']))
    const code = answer === 'reverts' ? concatHex(['0x5b', REVERT]) : answerCode(answer, at)
    answers.push(code)
    at += size(code)
  }
  // The selector: PUSH1 0, CALLDATALOAD, PUSH1 224, SHR
  return concatHex(['0x60003560e01c', ...tests, pass, ...answers])
}

/** Copies the question, asks, copies the answer, and returns or reverts with it. */
function passCode(target: Address, start: number): Hex {
  const before: Hex = concatHex([
    '0x36600060003760006000',
    '0x366000',
    '0x73',
    target,
    // GAS, STATICCALL, then the whole answer: RETURNDATASIZE, PUSH1 0, PUSH1 0, RETURNDATACOPY
    '0x5afa3d600060003e',
  ])
  // PUSH2 place, JUMPI, RETURNDATASIZE, PUSH1 0, REVERT; JUMPDEST, RETURNDATASIZE, PUSH1 0, RETURN
  const place = start + size(before) + 8
  return concatHex([before, '0x61', word16(place), '0x57', '0x3d6000fd', '0x5b', '0x3d6000f3'])
}

/** JUMPDEST, PUSH2 length, PUSH2 place, PUSH1 0, CODECOPY, PUSH2 length, PUSH1 0, RETURN, then the answer itself. */
function answerCode(answer: Hex, at: number): Hex {
  const length = word16(size(answer))
  const place = word16(at + 16)
  return concatHex(['0x5b', '0x61', length, '0x61', place, '0x6000', '0x39', '0x61', length, '0x6000', '0xf3', answer])
}

function word16(value: number): Hex {
  return numberToHex(value, { size: 2 })
}
