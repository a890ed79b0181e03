import { type Address, concatHex, type Hex, keccak256, numberToHex, padHex, stringToHex } from 'viem'
import { chunk } from '../../../lib/async/parallel.ts'
import { groupBy } from '../../../lib/group_by.ts'
import type { StorageWord } from '../../rpc/client.ts'
import type { ExitLoan, ExitUnit, StepOutcome } from './step.ts'

/** Places of a contract's storage that are tried for its map of balances. */
const PLACES = 64
/** `ERC20Upgradeable` of OpenZeppelin 5, ERC-7201: the map of balances. */
const OPENZEPPELIN: Hex = '0x52c63247e1f47db19d5ce0460030c497f067ca4cebf71ba98eeadabe20bace00'
/** `ERC20` of Solady: `_BALANCE_SLOT_SEED`. */
const SOLADY: Hex = '0x000000000000000087a211a2'
/** Balances that one step reads: each takes some 10,000 gas, a multiple behind a proxy. */
const CANDIDATES_MAX = 44

/** An account that is made up, and the only word of a token's storage that gives it money. */
export interface Donor {
  readonly holder: Address
  readonly word: StorageWord
}

/** Runs units with words of storage, which may be fewer than asked for; no outcome of a unit: it was not run. */
type RunWith = (
  units: readonly ExitUnit[],
  storage: readonly StorageWord[],
) => Promise<readonly (readonly StepOutcome[])[]>

/**
 * Finds, for each token, an account that can be given the money of all loans by one word of storage. Each candidate has
 * another holder with one word of its own: the token itself shows which of the words is a balance, and no other word of
 * the accounts that take part changes.
 */
export async function findDonors(loans: readonly ExitLoan[], run: RunWith): Promise<ReadonlyMap<Address, Donor>> {
  const searches = [...groupBy(loans, ({ token }) => token)].map(([token, all]) => {
    const amount = all.reduce((sum, each) => sum + each.amount, 0n)
    return { token, amount, candidates: listCandidates(token, amount) }
  })
  const units = searches.map(({ token, amount, candidates }) => ({
    steps: chunk(candidates, CANDIDATES_MAX).map((some, index) => ({
      calls: [],
      tokens: [],
      loan: { token, amount, lenders: some.map(({ holder }) => holder) },
      isFallback: index > 0,
    })),
  }))
  const words = searches.flatMap(({ candidates }) => candidates.map(({ word }) => word))
  const outcomes = await run(units, words)
  return new Map(
    searches.flatMap(({ token, candidates }, index) => {
      const [lender] = (outcomes[index] ?? []).flatMap((step) =>
        step.kind === 'done' ? (step.lent?.lender ?? []) : [],
      )
      const donor = candidates.find(({ holder }) => holder === lender)
      return donor === undefined ? [] : [[token, donor] as const]
    }),
  )
}

/**
 * Lists storage slots in which a token may keep the balance of a holder, each with another holder: maps of Solidity, two
 * libraries of their own kind, and maps of Vyper.
 */
function listCandidates(token: Address, amount: bigint): Donor[] {
  const places = Array.from({ length: PLACES }, (_, place) => numberToHex(place, { size: 32 }))
  const toSlots: readonly ((holder: Hex, key: Hex) => Hex)[] = [
    ...places.map((place) => (_: Hex, key: Hex) => concatHex([key, place])),
    (_, key) => concatHex([key, OPENZEPPELIN]),
    (holder) => concatHex([holder, SOLADY]),
    ...places.map((place) => (_: Hex, key: Hex) => concatHex([place, key])),
  ]
  return toSlots.map((toSlot, index) => {
    const holder: Address = `0x${keccak256(stringToHex(`walletscope.donor.${index}`)).slice(26)}`
    const slot = keccak256(toSlot(holder, padHex(holder, { size: 32 })))
    return { holder, word: { address: token, slot, word: numberToHex(amount, { size: 32 }) } }
  })
}
