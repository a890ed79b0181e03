import { expect, test } from 'bun:test'
import { onceEach } from '../../src/lib/once_each.ts'

test('onceEach() calculates once for each object, not for equal ones', () => {
  let calls = 0
  const double = onceEach(({ value }: { readonly value: number }) => {
    calls++
    return { twice: value * 2 }
  })
  const [one, other] = [{ value: 4 }, { value: 4 }]
  expect([double(one), double(one), double(other)]).toEqual([{ twice: 8 }, { twice: 8 }, { twice: 8 }])
  expect(double(one)).toBe(double(one))
  expect(calls).toBe(2)
})
