import type { ComponentChildren } from 'preact'
import { useEffect, useState } from '../../lib/view.ts'
import type { Context } from '../page.tsx'

/**
 * Returns whether the answers of these paths were asked for, and a function that asks: nothing is paid without a press.
 * One press pays for them once. What was paid for stands when its part of the page returns; what had no answer by then
 * needs another press. `paths`: at least one.
 */
export function usePress({ paid, pressed }: Pick<Context, 'paid' | 'pressed'>, paths: readonly string[]) {
  const [, setPresses] = useState(0)
  const id = toPressId(paths)
  const isPaid = () => paths.every((path) => paid.has(path))
  useEffect(
    () => () => {
      if (!isPaid()) pressed.delete(id)
    },
    [id],
  )
  const press = () => {
    pressed.add(id)
    setPresses((count) => count + 1)
  }
  return { isPressed: pressed.has(id) || isPaid(), press }
}

/** Returns the entry of `pressed` for paths that are asked for together. */
export function toPressId(paths: readonly string[]) {
  return paths.join(' ')
}

interface OfferProps {
  readonly price: string
  readonly onPress: () => void
  readonly children: ComponentChildren
}

/** Button that asks for a reading, with its price. */
export function Offer({ price, onPress, children }: OfferProps) {
  return (
    <button type="button" onClick={onPress}>
      {children} <i>{price}</i>
    </button>
  )
}
