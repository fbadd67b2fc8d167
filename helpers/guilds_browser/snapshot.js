/* What the broker runs in each document, in an isolated world: the snapshot, refs, and looks before and after an act.

   Refs live here, since only the document knows which node is which. Their numbers are handed out by the broker,
   so that no number ever stands for two nodes, whatever document they are in. Nothing here changes the page, but
   for scrolling and the caret, which an act needs. The page's own scripts can neither see nor change this world. */
((version) => {
'use strict'
const NAME_MOST = 120, TEXT_MOST = 500, FULL_TEXT_MOST = 5000, OPTIONS_MOST = 12, HREF_MOST = 80, GONE_MOST = 1000
const FRAMES_MOST = 50, CLOSED_MOST = 200, DEPTH_MOST = 60
const LONG_PAGE = 12000   // elements; a page with fewer is looked at whole
const REACH_SCREENS = 40  // of lines 30 pixels high, about what a snapshot has room for
const MISSES_MOST = 40    // lines that did not fit any more; a shorter one might

/* Kept over a newer version of this file: refs must outlive it. */
const kept = globalThis.guildsKept ??= {
  numbers: new WeakMap(),   // node → its number
  nodes: new Map(),         // number → {node: WeakRef, role, name} as it was last shown
  closedRoots: new WeakMap(),
  clickable: new WeakSet(), // nodes with a click listener, as the broker found
  next: 1, limit: 1,
}

// ---- nodes

/* A form's fields shadow its own members by their names (HTML, "legacy override built-ins"): `<input name=title>` is
   what `form.title` gives. Whatever may be a form is asked through its prototype. */
const own = (node, member) => node instanceof HTMLFormElement ? Reflect.get(HTMLFormElement.prototype, member, node) : node[member]
const ask = (node, method, ...given) => own(node, method).apply(node, given)

/* The same for what a snapshot asks of every node, which has to be fast: each by itself, so that the engine inlines it. */
const getter = (type, member) => Object.getOwnPropertyDescriptor(type.prototype, member).get
const getNodeType = getter(Node, 'nodeType'), getParentNode = getter(Node, 'parentNode'), getParent = getter(Node, 'parentElement')
const getChildNodes = getter(Node, 'childNodes'), getFirstChild = getter(Node, 'firstChild')
const getFirstElement = getter(Element, 'firstElementChild'), getTag = getter(Element, 'localName'), getOpenRoot = getter(Element, 'shadowRoot')
const getWidth = getter(Element, 'clientWidth'), getWidthInside = getter(Element, 'scrollWidth')
const getHeight = getter(Element, 'clientHeight'), getHeightInside = getter(Element, 'scrollHeight')
const nodeTypeOf = (node) => getNodeType.call(node)
const parentNodeOf = (node) => getParentNode.call(node)
const parentOf = (node) => getParent.call(node)
const childNodesOf = (node) => getChildNodes.call(node)
const firstChildOf = (node) => getFirstChild.call(node)
const firstElementOf = (el) => getFirstElement.call(el)
const tagOf = (el) => getTag.call(el)
const openRootOf = (el) => getOpenRoot.call(el)
const overWidthOf = (el) => getWidthInside.call(el) - getWidth.call(el)
const overHeightOf = (el) => getHeightInside.call(el) - getHeight.call(el)
const treeRootOf = (node) => Node.prototype.getRootNode.call(node)
const attributeOf = (el, name) => Element.prototype.getAttribute.call(el, name)
const hasAttribute = (el, name) => Element.prototype.hasAttribute.call(el, name)
const closest = (el, selector) => Element.prototype.closest.call(el, selector)
const matches = (el, selector) => Element.prototype.matches.call(el, selector)
const checkVisibility = (el, options) => Element.prototype.checkVisibility.call(el, options)
const rectOf = (el) => Element.prototype.getBoundingClientRect.call(el)

// ---- text

/* White space folded; control characters and those that turn the direction of text around are left out. */
const clean = (text) => text.replace(/[\p{Cc}\s]+/gu, ' ').replace(/[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufffe\uffff\ud800-\udfff]/g,
  (c) => c >= '\ud800' && c <= '\udfff' ? c : '').trim()
const cut = (text, most = NAME_MOST) => {
  if (text.length <= most) return text
  const end = most - 1
  return text.slice(0, /[\ud800-\udbff]/.test(text[end - 1]) ? end - 1 : end) + '…'
}
const quoted = (text, most = NAME_MOST) => '"' + cut(clean(text), most).replace(/["\\]/g, '\\$&') + '"'
const bytesOf = (text) => {
  let bytes = 0
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i)
    bytes += c < 0x80 ? 1 : c < 0x800 || (c >= 0xd800 && c <= 0xdfff) ? 2 : 3
  }
  return bytes
}

// ---- roles (HTML-AAM, WAI-ARIA 1.2)

const ARIA_ROLES = new Set(('alert alertdialog application article banner blockquote button caption cell checkbox code ' +
  'columnheader combobox complementary contentinfo definition deletion dialog directory document emphasis feed figure ' +
  'form generic grid gridcell group heading img image insertion link list listbox listitem log main marquee math menu ' +
  'menubar menuitem menuitemcheckbox menuitemradio meter navigation none note option paragraph presentation ' +
  'progressbar radio radiogroup region row rowgroup rowheader scrollbar search searchbox separator slider spinbutton ' +
  'status strong subscript superscript suggestion switch tab table tablist tabpanel term textbox timer toolbar ' +
  'tooltip tree treegrid treeitem').split(' '))
const INTERACTIVE = new Set(('button link textbox searchbox checkbox radio combobox listbox menuitem menuitemcheckbox ' +
  'menuitemradio option slider spinbutton switch tab treeitem summary date time month week datetime color file ' +
  'scrollbar').split(' '))
const NAMED_BY_CONTENT = new Set(('button link checkbox radio menuitem menuitemcheckbox menuitemradio option switch tab ' +
  'treeitem heading columnheader rowheader tooltip summary').split(' '))
const NEVER_NAMED = new Set('generic paragraph none code emphasis strong deletion insertion subscript superscript'.split(' '))
/* Structure that is worth a line only for what is in it. */
const TRANSPARENT = new Set(('generic none paragraph rowgroup code emphasis strong deletion insertion subscript ' +
  'superscript caption blockquote legend').split(' '))
/* Structure that is dropped when it has no name and one child. */
const COLLAPSED = new Set('listitem cell gridcell term definition figure group document article'.split(' '))
const INPUT_ROLES = {
  button: 'button', submit: 'button', reset: 'button', image: 'button', checkbox: 'checkbox', radio: 'radio',
  range: 'slider', number: 'spinbutton', search: 'searchbox', file: 'file', color: 'color', date: 'date', time: 'time',
  month: 'month', week: 'week', 'datetime-local': 'datetime', hidden: null,
}
const TAG_ROLES = {
  button: 'button', textarea: 'textbox', option: 'option', optgroup: 'group', summary: 'summary', nav: 'navigation',
  main: 'main', article: 'article', search: 'search', table: 'table', thead: 'rowgroup', tbody: 'rowgroup',
  tfoot: 'rowgroup', tr: 'row', ul: 'list', ol: 'list', menu: 'list', li: 'listitem', dl: 'list', dt: 'term',
  dd: 'definition', dialog: 'dialog', h1: 'heading', h2: 'heading', h3: 'heading', h4: 'heading', h5: 'heading',
  h6: 'heading', figure: 'figure', hr: 'separator', progress: 'progressbar', meter: 'meter', output: 'status',
  details: 'group', fieldset: 'group', p: 'paragraph', iframe: 'iframe', frame: 'iframe', video: 'video',
  audio: 'audio', canvas: 'canvas', math: 'math', blockquote: 'blockquote', code: 'code', em: 'emphasis',
  strong: 'strong', del: 'deletion', ins: 'insertion', sub: 'subscript', sup: 'superscript',
  caption: 'caption', legend: 'legend',
}
const SECTIONING = 'article, aside, main, nav, section, [role=article], [role=complementary], [role=main], [role=navigation], [role=region]'
const SKIPPED = new Set(('script style noscript template head meta link title base param source track colgroup col ' +
  'datalist object embed').split(' '))

const isHtml = (el) => own(el, 'namespaceURI') === 'http://www.w3.org/1999/xhtml'

const isFocusable = (el) => own(el, 'tabIndex') >= 0 || hasAttribute(el, 'tabindex') || isEditableRoot(el)

const isEditableRoot = (el) => own(el, 'isContentEditable') === true && !(parentOf(el) && parentOf(el).isContentEditable)

const tableCellRole = (el) => {
  const grid = closest(el, 'table, [role=grid], [role=treegrid]')
  const role = grid && grid.getAttribute('role')
  return role === 'grid' || role === 'treegrid' ? 'gridcell' : 'cell'
}

const nativeRole = (el) => {
  const tag = tagOf(el)
  if (!isHtml(el)) {
    if (tag === 'a') return hasAttribute(el, 'href') || hasAttribute(el, 'xlink:href') ? 'link' : 'generic'
    return tag === 'svg' && (authorName(el) || svgTitle(el)) ? 'image' : 'generic'
  }
  switch (tag) {
    case 'a': case 'area': return hasAttribute(el, 'href') ? 'link' : 'generic'
    case 'input': {
      const type = el.type
      const role = type in INPUT_ROLES ? INPUT_ROLES[type] : 'textbox'
      return el.list && (role === 'textbox' || role === 'searchbox') ? 'combobox' : role
    }
    case 'select': return el.multiple || el.size > 1 ? 'listbox' : 'combobox'
    case 'img': return attributeOf(el, 'alt') === '' && !authorName(el) && !own(el, 'title') ? 'none' : 'image'
    case 'header': return closest(el, SECTIONING) ? 'generic' : 'banner'
    case 'footer': return closest(el, SECTIONING) ? 'generic' : 'contentinfo'
    case 'aside': return parentOf(el) && parentOf(el).closest(SECTIONING.replace('main, ', '').replace(', [role=main]', '')) && !authorName(el) ? 'generic' : 'complementary'
    case 'section': return authorName(el) ? 'region' : 'generic'
    case 'form': return authorName(el) ? 'form' : 'generic'
    case 'td': return tableCellRole(el)
    case 'th': return el.scope === 'row' || el.scope === 'rowgroup' || (!el.scope && parentOf(el) &&
      parentOf(el).closest('tbody, tfoot') && el.cellIndex === 0 && !closest(el, 'thead')) ? 'rowheader' : 'columnheader'
  }
  return TAG_ROLES[tag] || 'generic'
}

const roleOf = (el) => {
  const given = attributeOf(el, 'role')
  let role = null
  if (given) {
    for (const token of given.trim().toLowerCase().split(/\s+/)) {
      if (!ARIA_ROLES.has(token)) continue
      if ((token === 'region' || token === 'form') && !authorName(el)) continue
      role = token
      break
    }
    if (role === 'img') role = 'image'
    if (role === 'directory') role = 'list'
    // What can be reached is not presentational (WAI-ARIA, "Presentational Roles Conflict Resolution").
    if ((role === 'none' || role === 'presentation') && (isFocusable(el) || hasAttribute(el, 'aria-label'))) role = null
    if (role === 'presentation') role = 'none'
  }
  if (!role) role = nativeRole(el)
  if (role === 'generic' && isEditableRoot(el)) return 'textbox'
  return role
}

// ---- names (accname 1.2)

const authorName = (el) => {
  const ids = attributeOf(el, 'aria-labelledby')
  if (ids) {
    const root = treeRootOf(el)
    const parts = []
    for (const id of ids.trim().split(/\s+/)) {
      const other = root.getElementById ? root.getElementById(id) : null
      if (other) parts.push(partName(other, 0))
    }
    const joined = clean(parts.join(' '))
    if (joined) return joined
  }
  return clean(attributeOf(el, 'aria-label') || '')
}

const svgTitle = (el) => {
  for (const child of own(el, 'children')) if (tagOf(child) === 'title') return clean(own(child, 'textContent') || '')
  return ''
}

/* The name of an element as a part of another's, or the text that stands for it. */
const partName = (el, depth) => {
  const given = clean(attributeOf(el, 'aria-label') || '')
  if (given) return given
  const tag = tagOf(el)
  if (tag === 'img' || tag === 'area') return el.alt || own(el, 'title') || ''
  if (tag === 'svg') return svgTitle(el)
  if (tag === 'input') {
    if (['button', 'submit', 'reset', 'image'].includes(el.type)) return buttonText(el)
    if (['checkbox', 'radio', 'password', 'file', 'hidden'].includes(el.type)) return ''
    return el.value
  }
  if (tag === 'textarea') return el.value
  if (tag === 'select') return [...el.selectedOptions].map((option) => option.text).join(' ')
  return contentText(el, depth) || own(el, 'title') || ''
}

const buttonText = (el) => {
  if (el.type === 'image') return el.alt || own(el, 'title') || el.value || 'Submit'
  if (el.value) return el.value
  return el.type === 'submit' ? 'Submit' : el.type === 'reset' ? 'Reset' : ''
}

const INLINE = new Set(['inline', 'contents'])

/* The text in an element, hidden parts left out, blocks apart. Stops once there is more than a name can hold. */
const contentText = (el, depth = 0) => {
  if (depth > DEPTH_MOST) return ''
  let text = pseudoText(el, '::before')
  for (const child of childrenOf(el)) {
    if (text.length > NAME_MOST * 4) break
    if (nodeTypeOf(child) === 3) { text += child.nodeValue; continue }
    if (nodeTypeOf(child) !== 1 || SKIPPED.has(tagOf(child)) || attributeOf(child, 'aria-hidden') === 'true') continue
    if (tagOf(child) === 'br') { text += ' '; continue }
    if (!isShown(child) || isSubtree(child)) continue
    const part = partName(child, depth + 1)
    text += INLINE.has(getComputedStyle(child).display) ? part : ' ' + part + ' '
  }
  return text + pseudoText(el, '::after')
}

/* The items below a tree's item are no part of its name. */
const isSubtree = (el) => attributeOf(el, 'role') === 'group' && !!closest(el, '[role=treeitem]')

const pseudoText = (el, which) => {
  const content = getComputedStyle(el, which).content
  if (!content || content === 'none' || content === 'normal' || content[0] !== '"') return ''
  try { return JSON.parse(content.split('" / "')[0].replace(/([^"])$/, '$1')) } catch { return '' }
}

const labelText = (label, field) => {
  const walk = (el, depth) => {
    let text = ''
    for (const child of childrenOf(el)) {
      if (child === field || text.length > NAME_MOST * 4) continue
      if (nodeTypeOf(child) === 3) text += child.nodeValue
      else if (nodeTypeOf(child) === 1 && !SKIPPED.has(tagOf(child)) && isShown(child) && depth < DEPTH_MOST) {
        const inner = ask(child, 'contains', field) ? walk(child, depth + 1) : partName(child, depth)
        text += INLINE.has(getComputedStyle(child).display) ? inner : ' ' + inner + ' '
      }
    }
    return text
  }
  return clean(attributeOf(label, 'aria-label') || walk(label, 0))
}

/* Which labels an element has. `el.labels` searches the whole document each time: for a snapshot, that is done once. */
const LABELABLE = new Set('button input meter output progress select textarea'.split(' '))
let labelIndex = null
const labelsOf = (el) => {
  if (!LABELABLE.has(tagOf(el))) return []
  if (!labelIndex) return [...el.labels || []]
  const root = treeRootOf(el)
  let found = labelIndex.get(root)
  if (!found) {
    labelIndex.set(root, found = new Map())
    for (const label of root.querySelectorAll('label')) {
      if (label.control) found.set(label.control, [...found.get(label.control) || [], label])
    }
  }
  return found.get(el) || []
}

const nameOf = (el, role) => {
  if (NEVER_NAMED.has(role) && !kept.clickable.has(el)) return ''
  const given = authorName(el)
  if (given) return given
  const tag = tagOf(el)
  if (isHtml(el)) {
    const text = clean(labelsOf(el).map((label) => labelText(label, el)).join(' '))
    if (text) return text
    switch (tag) {
      case 'input':
        if (['button', 'submit', 'reset', 'image'].includes(el.type)) return clean(buttonText(el))
        return clean(own(el, 'title') || el.placeholder || '')
      case 'textarea': return clean(own(el, 'title') || el.placeholder || '')
      case 'img': case 'area': return clean(el.alt || own(el, 'title') || '')
      case 'option': case 'optgroup': return clean(el.label || '')
      case 'fieldset': { const legend = ask(el, 'querySelector', ':scope > legend'); if (legend) return clean(contentText(legend)); break }
      case 'figure': { const caption = ask(el, 'querySelector', 'figcaption'); if (caption) return clean(contentText(caption)); break }
      case 'table': if (el.caption) return clean(contentText(el.caption)); break
    }
  } else if (tag === 'svg') return svgTitle(el)
  if (NAMED_BY_CONTENT.has(role)) {
    const text = clean(contentText(el))
    if (text) return text
  }
  return clean(own(el, 'title') && typeof own(el, 'title') === 'string' ? own(el, 'title') : attributeOf(el, 'aria-placeholder') || '')
}

// ---- visibility and children

const isShown = (el) => {
  if (tagOf(el) === 'area') { const image = imageOf(el); return !!image && isShown(image) }
  return checkVisibility(el, {visibilityProperty: true}) ||
    (getComputedStyle(el).display === 'contents' && getComputedStyle(el).visibility === 'visible')
}

/* The picture that an area is a part of, and a picture's areas that lead somewhere. */
const imageOf = (area) => {
  const map = closest(area, 'map')
  return map && [...ask(area, 'getRootNode').querySelectorAll('img[usemap]')].find((image) => mapOf(image) === map) || null
}
const mapOf = (image) => {
  const name = image.useMap.replace(/^[^#]*#/, '')
  return name ? [...ask(image, 'getRootNode').querySelectorAll('map')].find((map) => map.name === name) || null : null
}
const areasOf = (image) => [...mapOf(image)?.querySelectorAll('area[href]') || []]

const rootOf = (el) => openRootOf(el) || kept.closedRoots.get(el) || null

/* The children as they are laid out: a shadow root's in place of a host's, what is assigned in place of a slot's. */
const childrenOf = (node) => {
  const root = nodeTypeOf(node) === 1 ? rootOf(node) : null
  if (root) return root.childNodes
  if (nodeTypeOf(node) === 1 && tagOf(node) === 'slot' && node.assignedNodes) {
    const assigned = node.assignedNodes()
    if (assigned.length) return assigned
  }
  return childNodesOf(node)
}

const hasElements = (el) => {
  if (firstElementOf(el) || rootOf(el)) return true
  return tagOf(el) === 'slot' && el.assignedNodes().some((node) => nodeTypeOf(node) === 1)
}

const canScroll = (el, horizontal) => {
  if ((horizontal ? overWidthOf(el) : overHeightOf(el)) < 2 || getHeight.call(el) < 8 || getWidth.call(el) < 8) return false
  const style = getComputedStyle(el)
  const overflow = horizontal ? style.overflowX : style.overflowY
  return overflow === 'auto' || overflow === 'scroll' || overflow === 'overlay'
}

/* Whether scrolling this is scrolling the window: a body's own overflow is the window's, unless the root has one too
   (CSS Overflow 3, "Overflow Viewport Propagation"). */
const isWindow = (el) => el === document.documentElement || el === document.scrollingElement ||
  (el === document.body && getComputedStyle(document.documentElement).overflowY === 'visible')

const isPanel = (el) => !isWindow(el) && (canScroll(el, false) || canScroll(el, true))

/* A listener on a box full of buttons is there for them; frameworks put theirs on the whole application. */
const isSmall = (el) => ask(el, 'getElementsByTagName', '*').length < 30 && !ask(el, 'querySelector', 'a[href], button, input, select, textarea, [tabindex], [onclick]')

const isClickable = (el, parent) => {
  if (tagOf(el) === 'label' && el.control && !isShown(el.control)) return true  // it stands for a control that is styled away
  if ((kept.clickable.has(el) && isSmall(el)) || hasAttribute(el, 'onclick') || (hasAttribute(el, 'tabindex') && own(el, 'tabIndex') >= 0)) return true
  if (tagOf(el) === 'label' || getComputedStyle(el).cursor !== 'pointer') return false
  return !parent || getComputedStyle(parent).cursor !== 'pointer'  // the cursor is inherited: the outermost counts
}

/* The control that is styled away, and that this label is shown in place of. */
const stoodFor = (label) => {
  const {control} = label
  return control && isStoodFor(control) && !isShown(control) && labelsOf(control).find(isShown) === label ? control : null
}

/* A label's words are the name of its control, which is shown with it. */
const namesControl = (el) => tagOf(el) === 'label' && !!el.control && !authorName(el.control) && isShown(el.control)

/* A caption's words are the name of what it is in. */
const namesParent = (el) => ['caption', 'legend', 'figcaption'].includes(tagOf(el)) && !!parentOf(el) && !authorName(parentOf(el))

const isDisabled = (el) => matches(el, ':disabled') || !!closest(el, '[aria-disabled=true]')

// ---- refs

const refOf = (el) => {
  let number = kept.numbers.get(el)
  if (!number) {
    if (kept.next >= kept.limit) return null
    number = kept.next++
    kept.numbers.set(el, number)
    kept.nodes.set(number, {node: new WeakRef(el), role: '', name: ''})
  }
  return number
}

/* Numbers from `next` to below `limit` may be given out as refs. */
const lend = (next, limit) => {
  kept.next = Math.max(kept.next, next)
  if (limit) kept.limit = limit
}

const remember = (number, role, name) => {
  const entry = kept.nodes.get(number)
  entry.role = role
  entry.name = name
}

const forgetDead = () => {
  if (kept.nodes.size < GONE_MOST) return
  let gone = 0
  for (const [number, entry] of [...kept.nodes].reverse()) if (!entry.node.deref() && ++gone > GONE_MOST) kept.nodes.delete(number)
}

const elementOf = (number) => {
  const el = kept.nodes.get(number)?.node.deref()
  return el && (own(el, 'isConnected') || el === kept.apart) && own(el, 'ownerDocument') === document ? el : null
}

// ---- the tree

/* What is seen in the middle of the viewport, and all that it stands in: a part of a far box can be fixed there. Chrome
   takes its time over such a question on a long page, so it is asked once. */
const inTheMiddle = () => {
  const found = new Set()
  let el = deepest(innerWidth / 2, innerHeight / 2)
  for (; el && !found.has(el); el = own(el, 'assignedSlot') || parentOf(el) || treeRootOf(el).host) found.add(el)
  return found
}

/* One node that may become a line: `kids` are more of them and strings of text. */
class Entry {
  constructor(el, role, parent, depth) {
    this.el = el; this.role = role; this.parent = parent; this.depth = depth
    this.place = el; this.kids = []; this.acts = false; this.scrolls = false; this.line = null; this.taken = false
  }
}

class Text {
  constructor(text, el, parent) { this.text = text; this.el = this.place = el; this.parent = parent; this.line = null; this.taken = false }
}

class Walk {
  /* `reach` is how far from the viewport, in pixels, nodes are looked at; those beyond are `pruned`. */
  constructor(reach, boxes, inSight) {
    this.reach = reach
    this.boxes = boxes
    this.inSight = inSight
    this.pruned = 0
    this.visited = 0
    this.suspects = []  // elements that may hold a closed shadow root
    const modals = document.querySelectorAll('dialog:modal')
    this.modal = modals.length ? modals[modals.length - 1] : null
  }

  /* Of `only`, if given, else of all children of an element. */
  into(entry, parent, depth, quiet, only = null) {
    let text = ''
    const put = () => {
      const words = quiet ? '' : clean(text)
      text = ''
      if (words) entry.kids.push(new Text(words, parent, entry))
    }
    const shut = !only && tagOf(parent) === 'details' && !parent.open
    for (const child of only || childrenOf(parent)) {
      if (nodeTypeOf(child) === 3) { if (!quiet && !shut) text += child.nodeValue; continue }
      if (nodeTypeOf(child) !== 1) continue
      const tag = tagOf(child)
      if (SKIPPED.has(tag)) continue
      if (tag === 'br') { text += ' '; continue }
      if (shut && tag !== 'summary') continue
      this.visited++
      if (this.inSight && this.isFar(child)) { this.pruned++; continue }
      if (depth > 400 || attributeOf(child, 'aria-hidden') === 'true' || own(child, 'inert')) continue
      if (this.modal && !this.modal.contains(child) && !contains(child, this.modal)) continue
      let hidden = false
      if (!checkVisibility(child, {visibilityProperty: true})) {
        const style = getComputedStyle(child)
        if (style.display === 'none') continue
        if (style.display !== 'contents') hidden = true  // a child may be visible again
        else if (style.visibility !== 'visible') hidden = true
      }
      const role = hidden ? 'generic' : roleOf(child)
      if (role === null) continue
      if (!hidden && !openRootOf(child) && (tag.includes('-') || (!firstChildOf(child) && tag in HOSTS))) this.suspect(child)
      const control = tag === 'label' && !hidden && stoodFor(child)
      if (control) {
        put()
        const made = new Entry(control, roleOf(control), entry, depth)
        made.acts = true
        made.place = child
        entry.kids.push(made)
        this.into(made, child, depth + 1, true)
        continue
      }
      const acts = !hidden && (INTERACTIVE.has(role) || isClickable(child, parent))
      const scrolls = !hidden && firstElementOf(child) !== null && isPanel(child)
      if (!acts && !scrolls && TRANSPARENT.has(role)) {
        const inline = role !== 'paragraph' && INLINE.has(getComputedStyle(child).display)
        if (!inline) put()
        if (inline && !hidden && !quiet) {
          // inline text joins its surroundings, unless there is more in it than text
          if (!hasElements(child) && !namesControl(child)) { text += own(child, 'textContent'); continue }
          put()
        }
        this.into(entry, child, depth + 1, quiet || (hidden && !firstElementOf(child)) || namesControl(child) || namesParent(child))
        continue
      }
      put()
      const made = new Entry(child, role, entry, depth)
      made.acts = acts; made.scrolls = scrolls
      entry.kids.push(made)
      if (tag === 'img' && child.useMap) this.areas(made, child)
      if (role === 'iframe' || role === 'image' || tag === 'select' || tag === 'textarea' || tag === 'input' || role === 'canvas') continue
      const covered = NAMED_BY_CONTENT.has(role) || role === 'textbox' || (acts && role === 'generic')
      this.into(made, child, depth + 1, quiet || covered)
    }
    put()
  }

  areas(entry, image) {
    for (const area of areasOf(image)) {
      const made = new Entry(area, roleOf(area), entry, entry.depth + 1)
      made.acts = true
      entry.kids.push(made)
    }
  }

  isFar(el) {
    let box = this.boxes.get(el)
    if (!box) this.boxes.set(el, box = rectOf(el))
    if (box.bottom >= -this.reach && box.top <= innerHeight + this.reach) return false
    return box.height > 0 && !this.inSight.has(el)
  }

  suspect(el) { if (this.suspects.length < CLOSED_MOST && !kept.closedRoots.has(el)) this.suspects.push(el) }
}

const HOSTS = {div: 1, span: 1, section: 1, article: 1, main: 1, aside: 1, header: 1, footer: 1, nav: 1, p: 1}

const contains = (outer, inner) => {
  for (let node = inner; node; node = parentNodeOf(node) || node.host) if (node === outer) return true
  return false
}

const SAYS_ENOUGH = new Set('image heading separator progressbar meter status alert video audio canvas math'.split(' '))

/* Leave out the structure that says nothing: empty, or without a name around a single child. */
const collapse = (entry) => {
  const kids = []
  for (const kid of entry.kids) {
    if (kid instanceof Text) { kids.push(kid); continue }
    collapse(kid)
    if (!kid.acts && !kid.scrolls && kid.role !== 'iframe') {
      const bare = !authorName(kid.el)
      if (!kid.kids.length && bare && !SAYS_ENOUGH.has(kid.role) && !(NAMED_BY_CONTENT.has(kid.role) && nameOf(kid.el, kid.role))) continue
      if (kid.role === 'image' && !kid.kids.length && (NAMED_BY_CONTENT.has(entry.role) || !nameOf(kid.el, 'image'))) continue  // its words are in that name
      if (kid.role === 'separator') continue
      if (kid.kids.length === 1 && bare && COLLAPSED.has(kid.role) && !nameOf(kid.el, kid.role)) {
        kid.kids[0].parent = entry
        kids.push(kid.kids[0])
        continue
      }
    }
    kids.push(kid)
  }
  entry.kids = kids
}

const optionsOf = (select) => {
  const shown = []
  for (const option of select.options) {
    if (shown.length >= OPTIONS_MOST) break
    shown.push(cut(clean(option.text || option.label), 60).replace(/["\\|]/g, '\\$&'))
  }
  const more = select.options.length - shown.length
  return ' of "' + shown.join('|') + (more > 0 ? '|… ' + more + ' more' : '') + '"'
}

const valueOf = (el, role) => {
  const tag = tagOf(el)
  if (tag === 'input' && isHtml(el)) {
    if (el.type === 'password') return ' password' + (el.value ? ' (filled)' : '')
    if (el.type === 'checkbox' || el.type === 'radio') return el.indeterminate ? ' [-]' : el.checked ? ' [x]' : ' [ ]'
    if (el.type === 'file') return ' =' + quoted([...el.files].map((file) => file.name).join(', '))
    if (['button', 'submit', 'reset', 'image'].includes(el.type)) return ''
    return el.value ? ' =' + quoted(el.value) : ''
  }
  if (tag === 'textarea' && isHtml(el)) return el.value ? ' =' + quoted(el.value) : ''
  if (tag === 'select' && isHtml(el)) return ' =' + quoted([...el.selectedOptions].map((option) => option.text).join(', ')) + optionsOf(el)
  if (role === 'textbox' || role === 'searchbox' || role === 'combobox') {
    const text = own(el, 'isContentEditable') ? clean(contentText(el)) : ''
    return text ? ' =' + quoted(text) : ''
  }
  if (tag === 'progress' || tag === 'meter') return el.position === -1 ? '' : ' =' + el.value
  const now = attributeOf(el, 'aria-valuetext') || attributeOf(el, 'aria-valuenow')
  return now && ['slider', 'spinbutton', 'progressbar', 'meter', 'scrollbar'].includes(role) ? ' =' + quoted(now) : ''
}

const statesOf = (el, role) => {
  let states = ''
  const aria = (name) => { const value = attributeOf(el, 'aria-' + name); return value === null ? '' : value.toLowerCase() }
  const native = tagOf(el) === 'input' && (el.type === 'checkbox' || el.type === 'radio')
  if (!native && ['checkbox', 'radio', 'switch', 'menuitemcheckbox', 'menuitemradio'].includes(role)) {
    states += aria('checked') === 'true' ? ' [x]' : aria('checked') === 'mixed' ? ' [-]' : ' [ ]'
  }
  if (isDisabled(el)) states += ' disabled'
  if (role === 'summary') states += parentOf(el) && parentOf(el).open ? ' expanded' : ' collapsed'
  else if (aria('expanded')) states += aria('expanded') === 'true' ? ' expanded' : ' collapsed'
  if (role === 'option' && tagOf(el) === 'option' ? el.selected : aria('selected') === 'true') states += ' selected'
  if (aria('pressed') && aria('pressed') !== 'false') states += ' pressed' + (aria('pressed') === 'mixed' ? '=mixed' : '')
  if (aria('current') && aria('current') !== 'false') states += ' current'
  if (el.required === true || aria('required') === 'true') states += ' required'
  if (el.readOnly === true || aria('readonly') === 'true') states += ' readonly'
  if (aria('invalid') && aria('invalid') !== 'false') states += ' invalid'
  if (aria('busy') === 'true') states += ' busy'
  if (treeRootOf(el).activeElement === el && el !== document.body) states += ' focused'
  return states
}

const linkOf = (el) => {
  const href = clean(attributeOf(el, 'href') || attributeOf(el, 'xlink:href') || '')
  return href && href.length <= HREF_MOST && !/^(javascript|data):/i.test(href) ? ' ' + href.replace(/ /g, '%20') : ''
}

/* What stands for the name of a box that is clicked; what has a structure of its own is named by its author alone. */
const WORDS_NAME = new Set('listitem cell gridcell term definition'.split(' '))
const wordsOf = (el, role) => TRANSPARENT.has(role) || WORDS_NAME.has(role) || (role === 'row' && isFocusable(el)) ? clean(authorName(el) || contentText(el)) : ''

const shownRole = (el, role, acts, scrolls) =>
  TRANSPARENT.has(role) ? acts ? 'clickable' : 'panel' : role

const describe = (el, role = roleOf(el)) => {
  if (role === null) return {role: 'hidden', name: cut(clean(el.name || ''))}
  const acts = INTERACTIVE.has(role) || !TRANSPARENT.has(role)
  const name = nameOf(el, role) || (TRANSPARENT.has(role) || kept.clickable.has(el) ? wordsOf(el, role) : '')
  return {role: shownRole(el, role, acts || !isPanel(el), isPanel(el)), name: cut(name)}
}

/* Items of a list and rows of a table have no line of their own: a dash before their first part tells where one begins. */
const isBullet = (entry) => (entry.role === 'listitem' || entry.role === 'row') && !entry.acts && !entry.scrolls &&
  entry.kids.length > 0 && !authorName(entry.el)

const lineOf = (entry, options) => {
  if (entry instanceof Text) return quoted(entry.text, options.full ? FULL_TEXT_MOST : TEXT_MOST)
  if (isBullet(entry)) return '-'
  const {el, role} = entry
  const needsRef = entry.acts || entry.scrolls || role === 'iframe'
  let name = nameOf(el, role)
  if (!name && entry.acts) name = wordsOf(el, role)
  const shown = shownRole(el, role, entry.acts, entry.scrolls)
  let line = shown + (name ? ' ' + quoted(name) : '')
  entry.name = cut(name)
  if (role === 'link') line += linkOf(el)
  line += valueOf(el, role) + statesOf(el, role)
  if (entry.scrolls) line += ' scrollable'
  if (needsRef) {
    const number = refOf(el)
    if (number === null) return null
    remember(number, shown, entry.name)
    line = 'e' + number + ' ' + line
  }
  return line
}

const gap = (entry) => {
  const el = tagOf(entry.el) === 'area' ? entry.parent.el : entry.place
  const box = rectOf(el)
  if (box.bottom < 0) return -box.bottom
  return box.top > innerHeight ? box.top - innerHeight : 0
}

/* Take entries until the room is used up, those nearest the viewport first, each with what it stands in. */
class Room {
  constructor(options) {
    this.options = options
    this.characters = options.characters
    this.bytes = options.bytes
    this.taken = 0
    this.short = false
    this.full = false
  }

  take(entry) {
    const chain = []
    for (let at = entry; at && !at.taken && at.parent !== undefined; at = at.parent) chain.push(at)
    let characters = 0, bytes = 0
    for (const at of chain) {
      if (at.line === null) {
        at.line = at.parent === null ? '' : lineOf(at, this.options)
        if (at.line === null) { this.short = true; return false }
      }
      if (at.parent === null) continue
      const indent = depthOf(at) + 1
      characters += at.line.length + indent
      bytes += bytesOf(at.line) + indent
    }
    if (characters > this.characters || bytes > this.bytes) { this.full = true; return false }
    this.characters -= characters
    this.bytes -= bytes
    for (const at of chain) { at.taken = true; if (at.parent !== null) this.taken++ }
    return true
  }
}

const depthOf = (entry) => {
  let depth = 0
  for (let at = entry.parent; at && at.parent !== null; at = at.parent) depth++
  return depth
}

const entriesOf = (root) => {
  const found = []
  const visit = (entry) => { for (const kid of entry.kids) { found.push(kid); if (kid.kids) visit(kid) } }
  visit(root)
  return found
}

/* options: next, limit (numbers for refs), characters, bytes, full, root (a ref, or 0 for all).

   A long page is looked at near the viewport first, then further away, until the room is used up. */
const snapshot = (options) => {
  lend(options.next, options.limit)
  forgetDead()
  const top = options.root ? elementOf(options.root) : null
  if (options.root && !top) return {gone: true}
  const elements = document.getElementsByTagName('*').length
  labelIndex = new Map()
  try {
    let reach = elements > LONG_PAGE && !top ? REACH_SCREENS * innerHeight : Infinity
    const boxes = new Map(), inSight = reach === Infinity ? null : inTheMiddle()
    for (;; reach *= 8) {
      const walk = new Walk(reach, boxes, inSight)
      const root = treeOf(walk, top)
      const entries = entriesOf(root)
      const room = fill(entries, options)
      if (walk.pruned && !room.full && !room.short) continue
      const looked = walk.visited - walk.pruned  // what was not looked at has as many nodes an element, more or less
      const rough = walk.pruned && looked ? Math.max(0, elements - looked) * entries.length / looked : 0
      const left = entries.length - room.taken + Math.round(rough)
      globalThis.guilds.suspects = walk.suspects
      return {
        ...linesOf(root), short: room.short, needed: entries.length, left, rough: rough > 0, next: kept.next,
        suspects: walk.suspects.length, ...page(),
      }
    }
  } finally { labelIndex = null }
}

const treeOf = (walk, top) => {
  const root = new Entry(null, '', null, 0)
  root.line = ''
  root.taken = true
  if (top) walk.modal = null
  if (top) walk.into(root, parentOf(top), 0, false, [top])
  else if (document.documentElement) walk.into(root, document.documentElement, 0, false)
  collapse(root)
  return root
}

/* Take all entries in their order; where they do not all fit, those nearest the viewport. */
const fill = (entries, options) => {
  const room = new Room(options)
  if (entries.every((entry) => room.take(entry)) || room.short) return room
  for (const entry of entries) entry.taken = false
  const near = entries.map((entry, index) => [gap(entry), index])
  near.sort((a, b) => a[0] - b[0] || a[1] - b[1])
  const second = new Room(options)
  let misses = 0
  for (const [, index] of near) if (!second.take(entries[index]) && (second.short || ++misses > MISSES_MOST)) break
  return second
}

const linesOf = (root) => {
  const lines = [], frames = []
  let dash = ''
  const put = (entry, depth) => {
    for (const kid of entry.kids) {
      if (!kid.taken) continue
      if (kid.line === '-' && isBullet(kid)) {
        if (!kid.kids.some((each) => each.taken)) continue
        dash += '- '
        put(kid, depth + 1)
        continue
      }
      if (kid.role === 'iframe' && frames.length < FRAMES_MOST) frames.push([lines.length, depth + 1, kept.numbers.get(kid.el)])
      lines.push(' '.repeat(dash ? depth - 1 : depth) + dash + kid.line)
      dash = ''
      if (kid.kids) put(kid, depth + 1)
    }
  }
  put(root, 0)
  return {lines, frames}
}

const page = () => {
  const top = document.scrollingElement || document.documentElement
  const most = top ? own(top, 'scrollHeight') - innerHeight : 0
  return {
    url: location.href, title: cut(clean(document.title), 200), isPdf: document.contentType === 'application/pdf',
    scroll: most > 1 ? Math.round(100 * Math.min(1, scrollY / most)) : 0,
  }
}

// ---- looks before and after an act

const pointOf = (el) => {
  const boxes = ask(el, 'getClientRects')
  for (const box of boxes) {
    const left = Math.max(0, box.left), right = Math.min(innerWidth, box.right)
    const top = Math.max(0, box.top), bottom = Math.min(innerHeight, box.bottom)
    if (right - left > 0 && bottom - top > 0) return [(left + right) / 2, (top + bottom) / 2]
  }
  return null
}

const deepest = (x, y) => {
  let root = document, found = null
  for (;;) {
    const hit = root.elementFromPoint(x, y)
    if (!hit || hit === found) return found
    found = hit
    const inner = rootOf(hit)
    if (!inner) return found
    root = inner
  }
}

/* Whether a click on what is hit does what a click on the element does: a part of it, or the label that stands for
   it, but for what in a label acts itself. */
const leadsTo = (hit, el) => {
  if (contains(el, hit)) return true
  for (let node = hit; node; node = own(node, 'assignedSlot') || parentNodeOf(node) || node.host) {
    if (nodeTypeOf(node) !== 1) continue
    if (tagOf(node) === 'label') return node.control === el
    if (matches(node, 'a[href], button, input, select, textarea')) break
  }
  return tagOf(el) === 'label' && !!el.control && hit === el.control
}

/* Where an area of a picture is clicked: in the middle of its shape (HTML, "image map processing model"). */
const areaPoint = (area, image) => {
  const box = rectOf(image)
  const style = getComputedStyle(image)
  const left = box.left + own(image, 'clientLeft') + parseFloat(style.paddingLeft)
  const top = box.top + own(image, 'clientTop') + parseFloat(style.paddingTop)
  const at = area.coords.split(/[\s,;]+/).map(Number)
  const shape = area.shape.toLowerCase()
  const inside = shape.startsWith('circ') ? [at[0], at[1]] : shape.startsWith('poly') ?
    [0, 1].map((side) => { const of = at.filter((_, index) => index % 2 === side); return of.reduce((sum, each) => sum + each, 0) / of.length }) :
    shape === 'default' ? [1, 1] : [(at[0] + at[2]) / 2, (at[1] + at[3]) / 2]
  return inside.every(Number.isFinite) ? [left + inside[0], top + inside[1]] : null
}

/* Why an element can't be hit by a mouse although nothing lies over it; empty when there is no such reason. */
const unhittable = (el, hit) => {
  if (closest(el, '[inert]')) return 'is inert, as the page has it: it takes no clicks'
  if (getComputedStyle(el).pointerEvents === 'none') return 'lets clicks through (pointer-events: none)'
  if (!contains(hit, el)) return ''
  for (let node = el; node && nodeTypeOf(node) === 1; node = parentOf(node)) {
    const style = getComputedStyle(node)
    if (style.clipPath !== 'none' || style.clip !== 'auto') return 'is clipped away (clip-path) where it would be clicked'
  }
  return 'is clipped or lets clicks through where it would be clicked'
}

/* The controls that a label often stands for, since a page draws its own in their place. */
const STOOD_FOR = new Set(['checkbox', 'radio', 'file'])
const isStoodFor = (el) => tagOf(el) === 'input' && STOOD_FOR.has(el.type) && labelsOf(el).length > 0

/* Whatever `scroll-behavior` a page has. */
const scrollTo = (el, block) => ask(el, 'scrollIntoView', {block, inline: 'nearest', behavior: 'instant'})

/* Into the middle, unless all of it is in view. */
const bringIntoView = (el) => {
  const before = rectOf(el)
  scrollTo(el, 'nearest')
  const after = rectOf(el)
  if (after.top !== before.top || after.left !== before.left) scrollTo(el, 'center')
}

/* Scroll an element into view, and see where it can be clicked: `point`; `via` another node that stands for it; or
   `cover`, or `reason`, for which it can't. What lies under a bar at the window's edge is tried elsewhere in it. */
const reach = (el) => {
  const seen = tagOf(el) === 'area' ? imageOf(el) : el
  const {width, height} = rectOf(seen)
  const box = [width, height]
  if (!width || !height || !isShown(el)) {
    for (const label of isStoodFor(el) ? labelsOf(el) : []) if (isShown(label)) { bringIntoView(label); break }
    return {box, point: null, ...isStoodFor(el) ? byLabel(el) : {}}
  }
  bringIntoView(seen)
  let found = atPoint(el, seen)
  for (const block of ['center', 'end', 'start', 'center']) {
    if (!found.hit || unhittable(el, found.hit) || !isBar(coverOf(found.hit, el))) break
    scrollTo(seen, block)
    found = atPoint(el, seen)
  }
  const {hit, ...there} = found
  if (!hit) return {box, ...there}
  const reason = unhittable(el, hit)
  return reason ? {box, ...there, reason} : {box, ...there, cover: coverFor(hit, el)}
}

/* A dialog, or what is large, is not got round: it is there to be dealt with first. */
const isBar = (cover) => {
  const {width, height} = rectOf(cover)
  return width * height < innerWidth * innerHeight / 2 && !['dialog', 'alertdialog'].includes(roleOf(cover))
}

/* Where an element, or what stands for it, can be clicked now; `hit` is what lies over it. */
const atPoint = (el, seen) => {
  const point = seen === el ? pointOf(el) : areaPoint(el, seen)
  const hit = point && deepest(...point)
  if (!hit || (seen === el && contains(el, hit))) return {point}
  if (leadsTo(hit, el)) return {point, via: viaOf(seen === el ? hit : seen, point, seen !== el)}
  return byLabel(el) || {point, hit}
}

const byLabel = (el) => {
  for (const label of labelsOf(el)) {
    const point = pointOf(label), hit = point && deepest(...point)
    if (hit && leadsTo(hit, el)) return {point, via: viaOf(hit, point, false)}
  }
  return null
}

const viaOf = (node, point, force) => {
  const box = rectOf(node)
  const offset = [box.left + own(node, 'clientLeft'), box.top + own(node, 'clientTop')]
  return {number: refOf(node), x: point[0] - offset[0], y: point[1] - offset[1], force}
}

const coverFor = (hit, el) => {
  const cover = coverOf(hit, el)
  const named = describe(cover)
  const number = refOf(cover)
  if (number) remember(number, named.role, named.name)
  return {number, ...named}
}

/* Whether anything lies over a point of a frame, as its page sees it; else the point in this page. */
const over = (frame, point, next, limit) => {
  lend(next, limit)
  const box = rectOf(frame)
  const at = [box.left + own(frame, 'clientLeft') + point[0], box.top + own(frame, 'clientTop') + point[1]]
  let hit = deepest(...at)
  if (hit && hit !== frame && !contains(hit, frame) && isBar(coverOf(hit, frame))) {  // under a bar at the window's edge
    const before = scrollY
    scrollBy({top: at[1] - innerHeight / 2, behavior: 'instant'})
    at[1] -= scrollY - before
    hit = deepest(...at)
  }
  return {point: at, cover: hit && hit !== frame && !contains(hit, frame) ? coverFor(hit, frame) : null, next: kept.next}
}

/* Of what covers something, the part worth naming: the nearest with a role and a name, else the outermost block. */
const coverOf = (hit, el) => {
  if (tagOf(hit) === 'area') return hit
  let best = hit
  for (let node = hit; node && node !== document.body && node !== document.documentElement; node = parentOf(node) || treeRootOf(node).host) {
    if (contains(node, el)) break
    best = node
    const role = roleOf(node)
    if (['dialog', 'alertdialog', 'alert', 'region', 'banner', 'navigation'].includes(role)) break
  }
  return best
}

/* The state of a node before an act. `aim` scrolls it into view and looks whether it can be hit. */
const inspect = (number, aim, next, limit) => {
  lend(next, limit)
  const known = kept.nodes.get(number)
  if (!known) return {state: 'unknown'}
  const el = elementOf(number)
  if (!el) return {state: 'gone', role: known.role, name: known.name}
  const now = describe(el)
  const state = {
    state: 'here', was: known.role, tag: tagOf(el), type: isHtml(el) && tagOf(el) === 'input' ? el.type : '',
    disabled: isDisabled(el), editable: isEditable(el), readonly: el.readOnly === true, multiple: el.multiple === true,
    shown: isShown(el), ...checkedOf(el), ...now,
  }
  if (!known.role) { remember(number, now.role, now.name); state.was = now.role }
  if (known.role === 'clickable' || known.role === 'panel') state.was = now.role === 'clickable' || now.role === 'panel' ? now.role : known.role
  if (aim && (state.shown || isStoodFor(el))) Object.assign(state, reach(el))
  if (aim && state.tag === 'label' && el.control) state.control = refOf(el.control)
  state.next = kept.next
  return state
}

const isEditable = (el) => {
  if (own(el, 'isContentEditable')) return true
  if (!isHtml(el)) return false
  const tag = tagOf(el)
  return tag === 'textarea' || tag === 'input' && !['button', 'submit', 'reset', 'image', 'checkbox', 'radio', 'file', 'hidden', 'range', 'color'].includes(el.type)
}

const checkedOf = (el) => {
  if (tagOf(el) === 'input' && (el.type === 'checkbox' || el.type === 'radio')) return {checked: el.checked}
  const checked = attributeOf(el, 'aria-checked')
  return checked === null ? {} : {checked: checked === 'true'}
}

/* The value of a field for the reader, and whether it is the one `wanted`. A password's is only compared. */
const readBack = (number, wanted = null) => ({...valueNow(number, wanted), headline: headline()})

const valueNow = (number, wanted) => {
  const el = elementOf(number)
  if (!el) return {gone: true}
  if (tagOf(el) === 'input') {
    if (el.type === 'password') return {secret: el.value.length > 0, same: el.value === wanted}
    if (el.type === 'file') return {files: [...el.files].map((file) => file.name)}
  }
  const checked = checkedOf(el)
  if ('checked' in checked) return checked
  if (tagOf(el) === 'select') {
    const chosen = [...el.selectedOptions]
    return {options: chosen.map((option) => clean(option.text || option.label)), same: String(chosen.map((option) => option.index)) === String(wanted)}
  }
  const value = isHtml(el) && ['input', 'textarea'].includes(tagOf(el)) ? el.value : own(el, 'innerText') ?? own(el, 'textContent') ?? ''
  return {value, same: wanted !== null && comparable(value) === comparable(wanted)}
}
const comparable = (text) => text.replace(/\r\n?/g, '\n').replace(/\u00a0/g, ' ').replace(/\n+/g, '\n').replace(/\n$/, '')

const optionsFor = (number) => elementOf(number) && [...elementOf(number).options].map((option) => [clean(option.text || option.label), option.value, matches(option, ':disabled')])

/* Inputs whose value is set as a whole, since no keys make it up. */
const SET_WHOLE = new Set('color date time datetime-local month range week'.split(' '))
const TYPED_AT_ONCE_MOST = 5000

/* What the browser makes of a value in such a field. */
const normalised = (el, value) => {
  const probe = document.createElement(tagOf(el))
  if (tagOf(el) === 'input') {
    for (const name of ['min', 'max', 'step', 'multiple']) if (hasAttribute(el, name)) probe.setAttribute(name, attributeOf(el, name))
    probe.type = el.type
  }
  // As a paste does: a line break is a space in a single line.
  probe.value = el.type === 'number' ? value.trim() : tagOf(el) === 'input' ? value.replace(/\r\n?|\n/g, ' ') : value
  return el.maxLength >= 0 && !SET_WHOLE.has(el.type) ? probe.value.slice(0, el.maxLength) : probe.value
}

const editingHost = (el) => {
  let host = el
  for (let node = el; node && own(node, 'isContentEditable') === true; node = parentOf(node)) host = node
  return host
}

const active = () => {
  let node = document.activeElement
  for (let inner = node && rootOf(node)?.activeElement; inner; inner = rootOf(node)?.activeElement) node = inner
  return node
}

const holdsFocus = (el) => { const node = active(); return !!node && (contains(el, node) || node === editingHost(el)) }

/* Where the focus is now, for the reader; nothing when it is nowhere. */
const focusNow = () => {
  const node = active()
  if (!node || node === document.body || node === document.documentElement) return null
  const named = describe(node), number = refOf(node)
  if (number) remember(number, named.role, named.name)
  return {number, ...named}
}

const changed = (el) => { for (const kind of ['input', 'change']) ask(el, 'dispatchEvent', new Event(kind, {bubbles: true, composed: kind === 'input'})) }

/* Whether the page lets such an input through. For a command Chrome does not ask it by itself, as it does for keys. */
const allowed = (el, inputType, data = null) => ask(el, 'dispatchEvent',
  new InputEvent('beforeinput', {inputType, data, bubbles: true, cancelable: true, composed: true})) && holdsFocus(el)

/* Put text in place of what is selected, as keys would. Lines are put in one by one by the browser, each slower than
   the one before; where that would take long, all but the last character is set at once. */
const enter = (el, text) => {
  if (!allowed(el, 'insertText', text)) return
  if (el.selectionStart !== null && (text.length > TYPED_AT_ONCE_MOST || text.includes('\n'))) {
    const last = text.match(/.$/su)[0]
    el.setRangeText(text.slice(0, -last.length), el.selectionStart, el.selectionEnd, 'end')
    text = last
  }
  document.execCommand('insertText', false, text)
}

/* Replace the value of an input or a textarea in one go: of the page's scripts only its handlers of the focus run
   before the text is in, and after them the focus is looked at. Gives what the browser makes of the value. */
const replaceValue = (number, value, next, limit) => {
  lend(next, limit)
  const el = elementOf(number)
  if (!el) return {gone: true}
  const wanted = normalised(el, value)
  const odd = el.type === 'color' ? !CSS.supports('color', value) : el.type === 'range' ? !Number.isFinite(+value) : wanted === '' && (SET_WHOLE.has(el.type) || el.type === 'number')
  if (odd && value !== '') return {malformed: true}
  el.focus()
  if (SET_WHOLE.has(el.type)) {
    el.value = wanted
    changed(el)
    return {wanted: el.type === 'range' || el.type === 'color' ? el.value : wanted}
  }
  if (!holdsFocus(el)) return {refused: focusNow(), next: kept.next}
  el.select()
  if (wanted) enter(el, wanted)
  else if (allowed(el, 'deleteContentBackward')) document.execCommand('delete')
  return {wanted, most: value.length > wanted.length && wanted.length === own(el, 'maxLength') ? wanted.length : null}
}

/* Choose options of a select by their places. */
const choose = (number, places) => {
  const el = elementOf(number)
  if (!el) return {gone: true}
  el.focus()
  for (const option of el.options) { const chosen = places.includes(option.index); if (option.selected !== chosen && (chosen || el.multiple)) option.selected = chosen }
  changed(el)
  return {}
}

/* Keys that Playwright presses go to whatever has the focus. While it types, those that would reach another element
   are stopped here, before the page sees them. */
let typing = null
const KEY_EVENTS = ['keydown', 'keypress', 'keyup', 'beforeinput']
const TYPING_MOST_MS = 15000
const guard = (event) => {
  if (!typing || performance.now() > typing.until) return endTyping()
  if (!event.isTrusted) return
  if (!typing.lost && typing.el && holdsFocus(typing.el)) {
    if (event.type === 'keydown' && event.key !== 'End') { typing.count++; typing.down = true }
    if (event.type === 'beforeinput' && !typing.down) typing.count += event.data?.length ?? 1
    if (event.type === 'keyup') typing.down = false
  } else if (event.type !== 'keyup') {
    typing.lost = true
    event.preventDefault()
    event.stopImmediatePropagation()
  }
}
const endTyping = () => { typing = null; for (const kind of KEY_EVENTS) removeEventListener(kind, guard, true) }

/* While keys are for a field of another frame, none may come in here. */
const guardAll = () => {
  endTyping()
  typing = {el: null, until: performance.now() + TYPING_MOST_MS, lost: false}
  for (const kind of KEY_EVENTS) addEventListener(kind, guard, true)
}

/* Whether keys were stopped here since `guardAll`, and what has the focus, unless that is a frame. */
const relieve = (next, limit) => {
  lend(next, limit)
  const lost = !!typing?.lost, node = active()
  endTyping()
  return {lost, focus: node && tagOf(node) !== 'iframe' ? focusNow() : null, next: kept.next}
}

/* Focus a field, select what is in it or set the caret after it, and watch over the keys; whether it has the focus. */
const startTyping = (number, all, next, limit) => {
  lend(next, limit)
  endTyping()
  const el = elementOf(number)
  if (!el) return {gone: true}
  editingHost(el).focus()
  if (own(el, 'isContentEditable')) {
    const range = document.createRange()
    range.selectNodeContents(el)
    if (!all) range.collapse(false)
    const selection = getSelection()
    selection.removeAllRanges()
    selection.addRange(range)
  } else if (typeof el.setSelectionRange === 'function') {
    try { el.setSelectionRange(el.value.length, el.value.length) } catch { /* a number or an email has no caret to set; End goes there */ }
  }
  if (!holdsFocus(el)) return {refused: focusNow(), next: kept.next}
  typing = {el, until: performance.now() + TYPING_MOST_MS, count: 0, down: false, lost: false, before: el.value?.length}
  for (const kind of KEY_EVENTS) addEventListener(kind, guard, true)
  return {}
}

/* Put the rest of a long text after the caret. */
const typeRest = (number, text) => {
  const el = elementOf(number)
  if (!el || !typing || typing.lost || !holdsFocus(el)) return false
  const room = el.maxLength >= 0 ? Math.max(0, el.maxLength - el.value.length) : Infinity
  if (room) enter(el, text.slice(0, room))
  typing.count += text.length
  return true
}

/* How typing went: the value, how many keys came in, and where the focus is if it has moved. */
const typed = (number, ended, next, limit) => {
  lend(next, limit)
  const el = elementOf(number)
  const {count = 0, lost = false, before = 0} = typing || {}
  if (ended) endTyping()
  const moved = !!el && (lost || !holdsFocus(el))
  return {...readBack(number), count, lost, moved, most: el?.maxLength === el?.value?.length && before + count > el?.maxLength ? el.maxLength : null, focus: moved ? focusNow() : null, next: kept.next}
}

// ---- scrolling

const panels = (horizontal) => {
  const found = []
  const visit = (node) => {
    for (const child of childrenOf(node)) {
      if (nodeTypeOf(child) !== 1 || SKIPPED.has(tagOf(child))) continue
      if (!isWindow(child) && canScroll(child, horizontal) && isShown(child)) {
        const box = rectOf(child)
        const width = Math.min(box.right, innerWidth) - Math.max(box.left, 0)
        const height = Math.min(box.bottom, innerHeight) - Math.max(box.top, 0)
        if (width > 8 && height > 8) found.push([width * height, child])
      }
      visit(child)
    }
  }
  if (document.documentElement) visit(document.documentElement)
  return found.sort((a, b) => b[0] - a[0])
}

const windowOver = (horizontal) => {
  const top = document.scrollingElement || document.documentElement
  const over = horizontal ? own(top, 'scrollWidth') - innerWidth : own(top, 'scrollHeight') - innerHeight
  const overflow = getComputedStyle(document.documentElement)[horizontal ? 'overflowX' : 'overflowY']
  const body = document.body ? getComputedStyle(document.body)[horizontal ? 'overflowX' : 'overflowY'] : 'visible'
  const barred = ['hidden', 'clip'].includes(overflow) || overflow === 'visible' && ['hidden', 'clip'].includes(body)
  return barred ? 0 : over
}

/* The page's own handler of a scroll runs in the next frame, and may scroll elsewhere; a frame that is not painted
   is not waited for. */
const FRAME_MOST_MS = 100
const painted = () => new Promise((done) => { setTimeout(done, FRAME_MOST_MS); requestAnimationFrame(() => setTimeout(done)) })

const scroll = async (options) => {
  lend(options.next, options.limit)
  const horizontal = options.direction === 'left' || options.direction === 'right'
  const sign = options.direction === 'down' || options.direction === 'right' ? 1 : -1
  let panel = null
  if (options.number) {
    panel = elementOf(options.number)
    if (!panel) return {gone: true}
    while (panel && !canScroll(panel, horizontal)) panel = parentOf(panel) || treeRootOf(panel).host || null
    if (panel && isWindow(panel)) panel = null
    if (!panel && windowOver(horizontal) < 2) return {fixed: true}
  } else {
    const best = panels(horizontal)[0]
    if (best && (windowOver(horizontal) < 2 || best[0] > innerWidth * innerHeight / 2)) panel = best[1]
  }
  const el = panel || document.scrollingElement || document.documentElement
  const size = horizontal ? (panel ? own(el, 'clientWidth') : innerWidth) : (panel ? own(el, 'clientHeight') : innerHeight)
  const whole = horizontal ? own(el, 'scrollWidth') : own(el, 'scrollHeight')
  const at = () => Math.round(Math.abs(horizontal ? own(el, 'scrollLeft') : own(el, 'scrollTop')))
  const before = at()
  ask(el, 'scrollBy', {[horizontal ? 'left' : 'top']: sign * size, behavior: 'instant'})
  await painted()
  const after = at()
  const named = panel ? describe(panel) : null
  const number = panel ? refOf(panel) : 0
  if (number) remember(number, named.role, named.name)
  return {number, name: named ? named.name : '', before, after, whole, atEnd: after + size >= whole - 1, atStart: after <= 0, next: kept.next}
}

// ---- screenshots

let masks = []

/* Paint every password field evenly: an animation changes what is seen, and nothing that the page could read. */
const mask = () => {
  const visit = (root) => {
    for (const el of root.querySelectorAll('input[type=password]')) {
      masks.push(el.animate(
        {filter: ['contrast(0)', 'contrast(0)'], backgroundColor: ['#808080', '#808080'], color: ['#808080', '#808080'],
          webkitTextFillColor: ['#808080', '#808080'], caretColor: ['#808080', '#808080']}, {duration: 1e9, fill: 'both'}))
    }
    for (const el of root.querySelectorAll('*')) { const inner = rootOf(el); if (inner) visit(inner) }
  }
  visit(document)
  return [masks.length, devicePixelRatio]
}
const unmask = () => { for (const animation of masks) animation.cancel(); masks = [] }

const boxOf = (number) => {
  const el = elementOf(number)
  if (!el) return null
  ask(el, 'scrollIntoView', {block: 'nearest', inline: 'nearest', behavior: 'instant'})
  const box = rectOf(el)
  return [box.left + scrollX, box.top + scrollY, box.width, box.height]
}

// ---- for the broker

/* The ref of a node that a selector or a file chooser found, with its role and name. An input that a page has made for
   a chooser alone is in no document, and is held until there is another. */
const adopt = (el, next, limit, isChosen = false) => {
  if (nodeTypeOf(el) !== 1 || own(el, 'ownerDocument') !== document) return null
  lend(next, limit)
  const number = refOf(el)
  if (number === null) return null
  if (isChosen && !own(el, 'isConnected')) kept.apart = el
  const entry = kept.nodes.get(number)
  const now = describe(el)
  if (!entry.role) remember(number, now.role, now.name)
  return {number, next: kept.next, ...now}
}

const elements = () => document.getElementsByTagName('*').length
const adoptRoot = (host, root) => { kept.closedRoots.set(host, root) }
const markClickable = (el) => { if (nodeTypeOf(el) === 1 && el !== document.body && el !== document.documentElement) kept.clickable.add(el) }

const headline = () => [location.href, document.title]

globalThis.guilds = {
  version, headline, snapshot, page, inspect, elementOf, readBack, optionsFor, replaceValue, choose, startTyping, guardAll, relieve, typeRest, typed, over, scroll, mask, unmask, boxOf, adopt,
  adoptRoot, elements, markClickable, suspects: [], has: (number) => kept.nodes.has(number), used: () => kept.next,
}
})
