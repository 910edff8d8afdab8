use proc_macro2::{Ident, Span, TokenStream};
use quote::ToTokens;
use syn::{Attribute, Error, GenericParam, Generics, Item, ItemImpl, Type};

use crate::mistakes::Mistakes;
use crate::redact::Fields;

/// The item with the attribute.
pub(crate) struct Subject {
    /// The item as it was written, without a second `#[job]`.
    pub(crate) item: TokenStream,
    /// The type that it defines, or implements if the attribute is misplaced; `None` for a function
    /// and the like.
    pub(crate) name: Option<Ident>,
    pub(crate) generics: Generics,
    pub(crate) fields: Fields,
}

impl Subject {
    /// Reports everything but one struct without generic parameters.
    pub(crate) fn parse(tokens: TokenStream, mistakes: &mut Mistakes) -> Self {
        let mut subject = Self {
            item: tokens,
            name: None,
            generics: Generics::default(),
            fields: Fields::default(),
        };
        let Some(mut item) = mistakes.sift(syn::parse2::<Item>(subject.item.clone())) else {
            return subject;
        };
        if let Some(error) = misplaced(&item) {
            mistakes.push(error);
        }
        if let Item::Struct(item) = &item {
            subject.fields = Fields::of(item);
        }
        let (attributes, name, generics) = match &mut item {
            Item::Struct(item) => (&mut item.attrs, &item.ident, &item.generics),
            Item::Enum(item) => (&mut item.attrs, &item.ident, &item.generics),
            Item::Union(item) => (&mut item.attrs, &item.ident, &item.generics),
            Item::Impl(item) => {
                subject.name = implementor(item);
                return subject;
            }
            _ => return subject,
        };
        refuse_generics(generics, mistakes);
        subject.name = Some(name.clone());
        subject.generics = generics.clone();
        if take_repeated(attributes, mistakes) {
            subject.item = item.into_token_stream();
        }
        subject
    }
}

/// The type of an `impl Job`: it is declared here, so that it is not reported as undeclared as
/// well.
fn implementor(item: &ItemImpl) -> Option<Ident> {
    match &*item.self_ty {
        Type::Path(ty) => ty.path.get_ident().cloned(),
        _ => None,
    }
}

fn misplaced(item: &Item) -> Option<Error> {
    let error = match item {
        Item::Struct(_) => return None,
        Item::Enum(item) => Error::new_spanned(
            item.enum_token,
            "`#[job]` goes on a struct: make this enum a field of one",
        ),
        Item::Union(item) => Error::new_spanned(
            item.union_token,
            "`#[job]` goes on a struct: a union cannot be stored as JSON",
        ),
        Item::Fn(item) => Error::new_spanned(
            item.sig.fn_token,
            "`#[job]` goes on a struct: make the parameters its fields and the body the `run` of \
             its `impl Job`",
        ),
        Item::Impl(item) => Error::new_spanned(
            item.impl_token,
            "`#[job]` goes on the struct itself: move it from the `impl` to the definition",
        ),
        _ => Error::new(
            Span::call_site(),
            "`#[job]` goes on a struct, whose fields are the payload of the job",
        ),
    };
    Some(error)
}

fn refuse_generics(generics: &Generics, mistakes: &mut Mistakes) {
    for parameter in &generics.params {
        let message = match parameter {
            GenericParam::Lifetime(_) => {
                "a job is stored and run later, so it must own its payload: use `String` instead \
                 of `&str`, `Vec` instead of a slice"
            }
            GenericParam::Type(_) | GenericParam::Const(_) => {
                "a job is stored by name, so it must be one concrete type: wrap the instance you \
                 need in a struct of its own"
            }
        };
        mistakes.add(parameter, message);
    }
}

/// Reports and removes a second `#[job]`, which would declare the same struct again.
fn take_repeated(attributes: &mut Vec<Attribute>, mistakes: &mut Mistakes) -> bool {
    let before = attributes.len();
    attributes.retain(|attribute| {
        let repeated = is_job(attribute);
        if repeated {
            mistakes.add(
                attribute.path(),
                "this struct is already declared by another `#[job]`: put all arguments into one",
            );
        }
        !repeated
    });
    attributes.len() < before
}

/// `#[job]` or `#[jobkit::job]`, with or without arguments.
fn is_job(attribute: &Attribute) -> bool {
    let path = attribute.path();
    let mut segments = path.segments.iter().rev().map(|segment| &segment.ident);
    segments.next().is_some_and(|last| last == "job")
        && segments.next().is_none_or(|krate| krate == "jobkit")
}
