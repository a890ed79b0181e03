import type { ComponentChildren } from 'preact'

interface DisclosureProps {
  readonly title: ComponentChildren
  readonly class: string
  /** Class of the title. */
  readonly mood?: string
  readonly children: ComponentChildren
}

/** Content behind a title that opens it. */
export function Disclosure({ title, mood, children, ...rest }: DisclosureProps) {
  return (
    <details class={rest.class}>
      <summary class={mood}>{title}</summary>
      {children}
    </details>
  )
}
