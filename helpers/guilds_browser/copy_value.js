/* Runs in the page's own world around a script of the caller's: copies its value into plain data, within a budget of
   characters. It relies on syntax more than on functions, which a page may have replaced. Gives the copy, what in it
   has no JSON form, and whether the budget ended. */
(value, most) => {
  let left = most
  let cut = false
  const odd = []
  const note = (what) => { odd[odd.length] = what; return '[' + what + ']' }
  const text = (string) => {
    if (string.length <= left) { left -= string.length + 3; return string }
    cut = true
    let part = ''
    for (let i = 0; i < left; i++) part += string[i]
    left = 0
    return part
  }
  const copy = (it, above) => {
    left -= 2
    if (left <= 0) { cut = true; return null }
    switch (typeof it) {
      case 'string': return text(it)
      case 'number': return it - it === 0 ? it : (note('the number ' + it), null)
      case 'boolean': return it
      case 'undefined': return null
      case 'bigint': return note('a bigint, ' + it)
      case 'symbol': return note('a symbol')
      case 'function': return note('a function' + (typeof it.name === 'string' && it.name ? ', ' + it.name : ''))
    }
    if (it === null) return null
    for (let up = above; up; up = up.above) if (up.it === it) return note('a cycle')
    let depth = 0
    for (let up = above; up; up = up.above) depth++
    if (depth > 100) return note('nested over 100 deep')
    const here = {it, above}
    if (typeof it.nodeType === 'number' && typeof it.nodeName === 'string') {
      return note('a DOM node, ' + (it.nodeType === 1 ? '<' + it.localName + '>' : it.nodeName))
    }
    if (it.window === it) return note('a window')
    if (typeof it.toJSON === 'function') return copy(it.toJSON(), here)
    if (it instanceof Error) return note('an error, ' + it)
    if (it instanceof Map || it instanceof Set) return note((it instanceof Map ? 'a Map' : 'a Set') + ' of ' + it.size)
    if (it instanceof Number || it instanceof String || it instanceof Boolean) return copy(it.valueOf(), above)
    if (typeof it.length === 'number' && (Array.isArray(it) || it instanceof NodeList || it instanceof HTMLCollection)) {
      const list = []
      for (let i = 0; i < it.length && !cut; i++) list[i] = copy(it[i], here)
      return list
    }
    const object = {}
    for (const key in it) {
      if (cut) break
      if (!Object.hasOwn(it, key)) continue
      const member = it[key]
      if (member !== undefined && typeof member !== 'symbol') object[text(key)] = copy(member, here)
    }
    return object
  }
  const copied = copy(value, null)
  return [copied, odd.length > 5 ? [odd[0], odd[1], odd[2], odd[3], odd[4], 'more'] : odd, cut]
}
