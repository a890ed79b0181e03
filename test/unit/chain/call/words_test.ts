import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { type Address, encodeFunctionData, getAddress, type Hex, parseAbi, toFunctionSelector } from 'viem'
import {
  decodeAddress,
  decodeWord,
  encodeArray,
  encodeBytes,
  encodeCall,
  encodeList,
  encodeStruct,
} from '../../../../src/chain/call/words.ts'

const ABI = parseAbi([
  'struct Lists { address[] first; uint256[] second; address third; }',
  'function plain(address a, int256 b, bytes32 c)',
  'function nested(uint256 a, bytes[] b, bytes c)',
  'function mixed(uint256 a, Lists b, address[] c, bytes32 d, Lists e, uint256[] f)',
])

const arbitraryHex = (bytes: number) =>
  fc.uint8Array({ minLength: bytes, maxLength: bytes }).map((each): Hex => `0x${Buffer.from(each).toString('hex')}`)
const address = arbitraryHex(20).map((each): Address => getAddress(each))
const number = fc.bigInt({ min: 0n, max: (1n << 256n) - 1n })
const lists = fc.record({
  first: fc.array(address, { maxLength: 5 }),
  second: fc.array(number, { maxLength: 5 }),
  third: address,
})

test('encodeCall() encodes words as viem does, negative ones included', () => {
  fc.assert(
    fc.property(address, fc.bigInt({ min: -(1n << 255n), max: (1n << 255n) - 1n }), arbitraryHex(32), (a, b, c) => {
      const expected = encodeFunctionData({ abi: ABI, functionName: 'plain', args: [a, b, c] })
      expect(encodeCall(toFunctionSelector('plain(address,int256,bytes32)'), a, b, c)).toBe(expected)
      expect(decodeAddress(expected.replace(/^0x.{8}/, '0x') as Hex, 0)).toBe(a)
      expect(BigInt.asIntN(256, decodeWord(expected.replace(/^0x.{8}/, '0x') as Hex, 1))).toBe(b)
    }),
  )
})

test('encodeCall() encodes arrays and structs among words as viem does', () => {
  const selector = toFunctionSelector(
    'mixed(uint256,(address[],uint256[],address),address[],bytes32,(address[],uint256[],address),uint256[])',
  )
  const encodeFixture = ({ first, second, third }: { first: Address[]; second: bigint[]; third: Address }) =>
    encodeStruct(encodeArray(first), encodeArray(second), third)
  const words = fc.array(number, { maxLength: 5 })
  fc.assert(
    fc.property(
      number,
      lists,
      fc.array(address, { maxLength: 5 }),
      arbitraryHex(32),
      lists,
      words,
      (a, b, c, d, e, f) => {
        const expected = encodeFunctionData({ abi: ABI, functionName: 'mixed', args: [a, b, c, d, e, f] })
        expect(encodeCall(selector, a, encodeFixture(b), encodeArray(c), d, encodeFixture(e), encodeArray(f))).toBe(
          expected,
        )
      },
    ),
  )
})

test('encodeList() encodes an array of bytes as viem does', () => {
  const bytes = fc.nat({ max: 70 }).chain(arbitraryHex)
  fc.assert(
    fc.property(number, fc.array(bytes, { maxLength: 5 }), bytes, (a, b, c) => {
      const list = encodeList(b.map((each) => encodeBytes(each.slice(2))))
      expect(encodeCall(toFunctionSelector('nested(uint256,bytes[],bytes)'), a, list, encodeBytes(c.slice(2)))).toBe(
        encodeFunctionData({ abi: ABI, functionName: 'nested', args: [a, b, c] }),
      )
    }),
  )
})
