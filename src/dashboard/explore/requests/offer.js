import { html, useEffect, useState } from '../../lib/view.js'

/**
 * Returns whether the answers of these paths were asked for, and a function that asks: nothing is paid without a press.
 * One press pays for them once. What was paid for stands when its part of the page returns; what had no answer by then needs
 * another press.
 * @param {Pick<import('../page.js').Context, 'paid' | 'pressed'>} context
 * @param {readonly string[]} paths at least one
 */
export function usePress({ paid, pressed }, paths) {
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

/** Returns the entry of `pressed` for paths that are asked for together. @param {readonly string[]} paths */
export function toPressId(paths) {
  return paths.join(' ')
}

/**
 * Button that asks for a reading, with its price.
 * @param {{ price: string, onPress: () => void, children: unknown }} props
 */
export function Offer({ price, onPress, children }) {
  return html`<button type="button" onClick=${onPress}>${children} <i>${price}</i></button>`
}
