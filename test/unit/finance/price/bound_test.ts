import { expect, test } from 'bun:test'
import { createBoundShare } from '../../../../src/finance/price/bound.ts'
import { createRandom, type Random } from '../../../devnet/random.ts'
import { caseCount } from '../../../support/cases.ts'

/** A number below 10^digits. */
function below(random: Random, digits: number): bigint {
  return BigInt(Array.from({ length: 1 + random.below(digits) }, () => random.below(10)).join(''))
}

/** A fraction, compared by its cross products. */
type Fraction = readonly [bigint, bigint]

const times = ([a, b]: Fraction, [c, d]: Fraction): Fraction => [a * c, b * d]
const plus = ([a, b]: Fraction, [c, d]: Fraction): Fraction => [a * d + c * b, b * d]
const isLess = ([a, b]: Fraction, [c, d]: Fraction): boolean => a * d < c * b
const toFraction = ({ units, scale }: { readonly units: bigint; readonly scale: number }): Fraction => [
  units,
  10n ** BigInt(scale),
]

test('all amounts together count what covers debts and the bound, to the last digit, and the rest is the rest', () => {
  const random = createRandom(46)
  for (let round = 0; round < caseCount(300); round++) {
    const token = {
      decimals: random.below(31),
      price: { units: 1n + below(random, 20), scale: random.below(25) },
      debtPrice: { units: 1n + below(random, 20), scale: random.below(25) },
      boundUsd: { units: below(random, 20), scale: random.below(13) },
    }
    const amounts = Array.from({ length: 1 + random.below(6) }, () => 1n + below(random, 30))
    const held = amounts.reduce((sum, each) => sum + each, 0n)
    const owed = random.pick([0n, below(random, 30)])
    const heldElsewhere = random.pick([0n, below(random, 30)])
    const count = createBoundShare(token, { held, heldElsewhere, owed })
    const parts = amounts.map(count)

    // By definition, in fractions.
    const unit: Fraction = [1n, 10n ** BigInt(token.decimals)]
    const [price, debtPrice] = [times(toFraction(token.price), unit), times(toFraction(token.debtPrice), unit)]
    const uncovered = owed > heldElsewhere ? owed - heldElsewhere : 0n
    const covering = uncovered < held ? uncovered : held
    const filled: Fraction = times([heldElsewhere > owed ? heldElsewhere - owed : 0n, 1n], price)
    const left = plus(toFraction(token.boundUsd), [-filled[0], filled[1]])
    const bound: Fraction = left[0] < 0n ? [0n, 1n] : left
    const free = times([held - covering, 1n], price)
    const counted = plus(times([covering, 1n], debtPrice), isLess(free, bound) ? free : bound)

    const sum = parts.reduce<Fraction>((total, { value }) => plus(total, toFraction(value)), [0n, 1n])
    const digit: Fraction = [BigInt(amounts.length), 10n ** BigInt(parts[0]?.value.scale ?? 0)]
    expect(isLess(counted, sum)).toBe(false)
    expect(isLess(sum, plus(counted, [-digit[0], digit[1]]))).toBe(false)
    for (const [index, { value, restRaw, restValue }] of parts.entries()) {
      const amount = amounts[index] ?? 0n
      expect(restRaw >= 0n && restRaw <= amount && (restRaw > 0n || restValue.units === 0n)).toBe(true)
      // In proportion: no other amount of the token counts more per unit, but for the last digit.
      const [first] = parts
      expect(value.units * (amounts[0] ?? 0n) <= ((first?.value.units ?? 0n) + 1n) * amount).toBe(true)
    }
  }
})

test('the smallest units that do not count are rounded up, so that no part of one counts twice', () => {
  const dollar = { units: 1n, scale: 0 }
  // Three units of a dollar each against two dollars: a third of each unit does not count.
  const token = { decimals: 0, price: dollar, debtPrice: dollar, boundUsd: { units: 2n, scale: 0 } }
  const count = createBoundShare(token, { held: 3n, heldElsewhere: 0n, owed: 0n })
  expect([1n, 2n, 3n].map((amount) => count(amount).restRaw)).toEqual([1n, 1n, 1n])
  const other = createBoundShare({ ...token, boundUsd: dollar }, { held: 3n, heldElsewhere: 0n, owed: 0n })
  expect([1n, 2n, 3n].map((amount) => other(amount).restRaw)).toEqual([1n, 2n, 2n])
})
