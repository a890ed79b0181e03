import type { ComponentChildren } from 'preact'
import { useRovingFocus } from './roving_focus.ts'

interface DisclosureProps {
  readonly title: ComponentChildren
  readonly class: string
  /** Class of the title. */
  readonly mood?: string
  readonly children: ComponentChildren
}

/** Content behind a title that opens it. */
export function Disclosure({ title, mood, children, ...rest }: DisclosureProps) {
  const rove = useRovingFocus<HTMLElement>()
  return (
    <details class={rest.class}>
      <summary {...rove} class={mood}>
        {title}
      </summary>
      {children}
    </details>
  )
}
